; SPDX-License-Identifier: GPL-2.0-only
;
; World switch of the VT-x backend (SDM vol. 3, chapters 27 and 28). Interrupts
; are off on both sides; NMIs between the exit and the next entry meet the
; host's own tables, which the exit has loaded from the VMCS.

bits 64
default rel
section .text

%define GPR(n) rdi + 24 + (n) * 8 ; gpr[16] of struct guest_regs, in encoding order
%define VMCS_HOST_RSP 0x6c14

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
	push	rdi
	mov	eax, VMCS_HOST_RSP
	vmwrite	rax, rsp
.begin:
	cmp	dword [rdx], 0
	jne	.kicked
	test	sil, sil	; the loads below leave the flags alone
	mov	rax, [GPR(0)]
	mov	rcx, [GPR(1)]
	mov	rdx, [GPR(2)]
	mov	rbx, [GPR(3)]
	mov	rbp, [GPR(5)]
	mov	rsi, [GPR(6)]
	mov	r8, [GPR(8)]
	mov	r9, [GPR(9)]
	mov	r10, [GPR(10)]
	mov	r11, [GPR(11)]
	mov	r12, [GPR(12)]
	mov	r13, [GPR(13)]
	mov	r14, [GPR(14)]
	mov	r15, [GPR(15)]
	mov	rdi, [GPR(7)]
	jnz	.resume
	vmlaunch
	jmp	.failed
.resume:
	vmresume
.failed:
	pop	rdi
	mov	eax, 1
	jmp	out
.kicked:
	pop	rdi
	mov	eax, 2
	jmp	out

global vmx_exit_entry
vmx_exit_entry:
	xchg	rdi, [rsp]	; regs; the guest's RDI waits on the stack
	mov	[GPR(0)], rax
	mov	[GPR(1)], rcx
	mov	[GPR(2)], rdx
	mov	[GPR(3)], rbx
	mov	[GPR(5)], rbp
	mov	[GPR(6)], rsi
	mov	[GPR(8)], r8
	mov	[GPR(9)], r9
	mov	[GPR(10)], r10
	mov	[GPR(11)], r11
	mov	[GPR(12)], r12
	mov	[GPR(13)], r13
	mov	[GPR(14)], r14
	mov	[GPR(15)], r15
	pop	qword [GPR(7)]
	xor	eax, eax
out:
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbx
	pop	rbp
	ret

section .nmi_table progbits alloc noexec nowrite align=8
	dq vmx_enter.begin, vmx_enter.failed, vmx_enter.kicked
