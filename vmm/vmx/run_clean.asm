; SPDX-License-Identifier: GPL-2.0-only
;
; The world switch of VMs that are not trusted, on CPUs that need something against speculation at exits or entries.

bits 64
default rel
section .text

extern upcall_nmi, trap_stubs

; An NMI that was noted: as if it came now. Loads RDI again.
%macro TAKE_NMI 0
	cmp	byte [rsp + NMI_FLAG], 0
	je	%%end
	mov	byte [rsp + NMI_FLAG], 0
	call	upcall_nmi
	mov	rdi, [REGS]
%%end:
%endmacro

%define CLEAN
%include "vmx/world.inc"

; There was no entry; in EBX what to return.
closed:
	TAKE_NMI
	mov	eax, ebx
	jmp	out

%ifdef CONFIG_LEAN_EXITS
again:
	mov	dword [WHEN_KICKED], ENTRY_DONE
	mov	rdi, [REGS]
	mov	rdx, [KICK]
	mov	esi, 1
	jmp	vmx_enter_clean.begin
%endif

; All NMIs: trap.c has it, by nmi_entries, in the gate in place of the stub. Before an entry one that is noted leads to .kicked.
global trap_nmi_entry
trap_nmi_entry:
	push	rax
	push	rcx
	mov	rax, [rsp + 16]
	lea	rcx, [vmx_enter_clean.open]
	sub	rax, rcx
	cmp	rax, vmx_clean - vmx_enter_clean.open
	jae	.take
	cmp	rax, vmx_enter_clean.failed - vmx_enter_clean.open
	jae	.note
	lea	rcx, [vmx_enter_clean.kicked]
	mov	[rsp + 16], rcx
.note:
	mov	eax, VMCS_HOST_RSP
	vmread	rax, rax
	mov	byte [rax + NMI_FLAG], 1
	pop	rcx
	pop	rax
	iretq
.take:
	pop	rcx
	pop	rax
	lfence			; not by a wrong prediction
	jmp	trap_stubs + 2 * 4

section nmi_entries progbits alloc noexec nowrite align=8
	dq trap_nmi_entry

section .nmi_table progbits alloc noexec nowrite align=8
	dq vmx_enter_clean.begin, vmx_enter_clean.open, vmx_enter_clean.kicked
