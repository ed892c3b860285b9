; SPDX-License-Identifier: GPL-2.0-only
;
; Sleeping without losing a wake-up (idle.h). STI holds maskable interrupts
; off until HLT or MWAIT has begun (SDM vol. 2, STI); for NMIs the handler
; compares the interrupted RIP with the regions named here.

section .text
global idle_hlt, idle_hlt_begin, idle_hlt_end
global idle_mwait, idle_mwait_begin, idle_mwait_end

; void idle_hlt(const u32 *word)
idle_hlt:
idle_hlt_begin:
	cmp dword [rdi], 0
	jne idle_hlt_end
	sti
	hlt
idle_hlt_end:
	cli
	ret

; void idle_mwait(const u32 *word, u32 hint)
idle_mwait:
	mov rax, rdi
	xor ecx, ecx
	xor edx, edx
	monitor
	mov eax, esi
idle_mwait_begin:
	cmp dword [rdi], 0
	jne idle_mwait_end
	sti
	mwait
idle_mwait_end:
	cli
	ret
