; SPDX-License-Identifier: GPL-2.0-only
;
; A CPU whose local APIC is a guest's: its sleep, and the stubs that throw away what is left in that APIC (apic_give.c).

%define MSR_X2APIC_EOI 0x80b
%define MSR_MCG_STATUS 0x17a
%define MCG_STATUS_MCIP 4
%define SX_INIT 1

section .text
global idle_nmi, apic_drop, apic_drop_18, apic_drop_30
extern trap_stubs, apic_idt

; void idle_nmi(const u32 *word): idle.h
idle_nmi:
.begin:
	cmp dword [rdi], 0
	jne .end
	hlt
.end:
	ret

%macro SAVE 0
	push rax
	push rcx
	push rdx
%endmacro
%macro RESTORE 0
	pop rdx
	pop rcx
	pop rax
%endmacro

; Any vector that the APIC delivers, whatever exception has the same number: nothing but its end.
align 16
apic_drop:
	SAVE
	mov ecx, MSR_X2APIC_EOI
	xor eax, eax
	xor edx, edx
	wrmsr
	RESTORE
	iretq

; Vector 18 is a machine check where the CPU says that one is in progress (SDM vol. 3, 16.3.1.2).
apic_drop_18:
	SAVE
	mov ecx, MSR_MCG_STATUS
	rdmsr
	test al, MCG_STATUS_MCIP
	RESTORE
	jz apic_drop
	; Its report reads MSRs that may not be there: #GP is an exception again, till it returns here, not to where IF may be 1.
	sub rsp, 24
	sidt [rsp + 8]
	lidt [rel apic_idt]
	push qword [rsp + 56] ; SS
	push rsp
	add qword [rsp], 8
	pushfq
	push qword [rsp + 56] ; CS
	call trap_stubs + 18 * 4 + 8 ; trap.c, stub()
	lidt [rsp + 8]
	add rsp, 24
	iretq

; Vector 30 is #SX where an error code lies on the stack, that of an INIT (APM vol. 2, 15.28); else RIP does.
apic_drop_30:
	cmp qword [rsp], SX_INIT
	jne apic_drop
	add rsp, 8
	iretq

section .nmi_table progbits alloc noexec nowrite align=8
	dq idle_nmi.begin, idle_nmi.end, idle_nmi.end
