; SPDX-License-Identifier: GPL-2.0-only
;
; Sleeping without losing a wake-up (idle.h). STI holds maskable interrupts
; off until HLT or MWAIT has begun (SDM vol. 2, STI); an NMI does not let a
; region of nmi_table.h go on.

section .text
global idle_hlt, idle_mwait

; void idle_hlt(const u32 *word)
idle_hlt:
.begin:
	cmp dword [rdi], 0
	jne .end
	sti
	hlt
.end:
	cli
	ret

; void idle_mwait(const u32 *word, u32 hint)
idle_mwait:
	mov rax, rdi
	xor ecx, ecx
	xor edx, edx
	monitor
	mov eax, esi
.begin:
	cmp dword [rdi], 0
	jne .end
	sti
	mwait
.end:
	cli
	ret

section .nmi_table progbits alloc noexec nowrite align=8
	dq idle_hlt.begin, idle_hlt.end, idle_hlt.end
	dq idle_mwait.begin, idle_mwait.end, idle_mwait.end
