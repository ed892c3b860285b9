; SPDX-License-Identifier: GPL-2.0-only
;
; World switch of the VT-x backend (SDM vol. 3, chapters 27 and 28). Interrupts
; are off on both sides; NMIs between the exit and the next entry meet the
; host's own tables, which the exit has loaded from the VMCS.

bits 64
default rel
section .text

%include "cpu/gpr.inc"
%define VMCS_HOST_RSP 0x6c14

; What vmx_enter() returns (vmx.h), and its frame below the registers that it keeps.
%define ENTRY_FAILED 1
%define ENTRY_KICKED 2
%define ENTRY_DONE 3
%define REGS rsp
%define KICK rsp + 8
%define FRAME 16

%macro LOAD_ALL 0
	mov	rax, [GPR(0)]
	LOAD_GPRS
	mov	rdi, [GPR(7)]
%endmacro

; int vmx_enter(struct guest_regs *regs, bool launched, const u32 *kick)
; From the test of *kick to the entry an NMI sends it to .kicked (nmi_table.h): no kick is lost in between.
global vmx_enter
vmx_enter:
	push	rbp
	push	rbx
	push	r12
	push	r13
	push	r14
	push	r15
	push	rdx
	push	rdi
	mov	eax, VMCS_HOST_RSP
	vmwrite	rax, rsp
.begin:
	cmp	dword [rdx], 0
	jne	.kicked
	test	sil, sil	; the loads below leave the flags alone
	LOAD_ALL
	jnz	.resume
	vmlaunch
	jmp	.failed
.resume:
	vmresume
.failed:
	mov	eax, ENTRY_FAILED
	jmp	out
.kicked:
	mov	eax, ENTRY_KICKED
	jmp	out

%ifdef CONFIG_LEAN_EXITS
; The same once more, after an exit that vmx_lean() has dealt with.
again:
	mov	rdi, [REGS]
	mov	rdx, [KICK]
.begin:
	cmp	dword [rdx], 0
	jne	.kicked
	LOAD_ALL
	vmresume
.failed:
	jmp	vmx_enter.failed
.kicked:
	mov	eax, ENTRY_DONE
	jmp	out
%endif

global vmx_exit_entry
vmx_exit_entry:
	push	rdi
	mov	rdi, [REGS + 8]
	mov	[GPR(0)], rax
	SAVE_GPRS
	pop	qword [GPR(7)]
%ifdef CONFIG_LEAN_EXITS
	extern	vmx_lean
	lea	rbp, [rsp + FRAME + 40]	; vmx_enter's, for a backtrace
	call	vmx_lean
	test	eax, eax
	js	again
%else
	xor	eax, eax
%endif
out:
	add	rsp, FRAME
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbx
	pop	rbp
	ret

section .nmi_table progbits alloc noexec nowrite align=8
	dq vmx_enter.begin, vmx_enter.failed, vmx_enter.kicked
%ifdef CONFIG_LEAN_EXITS
	dq again.begin, again.failed, again.kicked
%endif
