; SPDX-License-Identifier: GPL-2.0-only
;
; World switch of the SVM backend (APM vol. 2, 15.5, 15.17). GIF is 0 from the
; last check to VMRUN and from the exit until the host's TR and GS are back, so
; an NMI never meets the guest's. RFLAGS.IF is 1 under GIF = 0 because with
; V_INTR_MASKING it is what lets physical interrupts end the guest.

bits 64
default rel
section .text

%define GPR(n) rdi + 24 + (n) * 8 ; gpr[16] of struct guest_regs, in encoding order

; void svm_enter(struct guest_regs *regs, u64 vmcb_pa, u64 host_vmcb_pa): called with GIF = 0, returns with 1
global svm_enter
svm_enter:
	push	rbp
	push	rbx
	push	r12
	push	r13
	push	r14
	push	r15
	push	rdx		; host_vmcb_pa
	push	rdi		; regs
	sti
	mov	rax, rsi	; VMLOAD, VMRUN and VMSAVE take their address in RAX
	vmload
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
	vmrun
	vmsave		; RAX and RSP are the host's again: RAX the VMCB's address
	xchg	rdi, [rsp]	; regs; the guest's RDI waits on the stack
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
	pop	rax
	vmload
	cli
	stgi
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbx
	pop	rbp
	ret

; void svm_vmsave(u64 vmcb_pa)
global svm_vmsave
svm_vmsave:
	mov	rax, rdi
	vmsave
	ret
