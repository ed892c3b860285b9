; SPDX-License-Identifier: GPL-2.0-only
;
; World switch of the SVM backend (APM vol. 2, 15.5, 15.17). GIF is 0 from the
; last check to VMRUN and from the exit until the host's TR and GS are back, so
; an NMI never meets the guest's. RFLAGS.IF is 1 under GIF = 0 because with
; V_INTR_MASKING it is what lets physical interrupts end the guest.

bits 64
default rel
section .text

%include "cpu/gpr.inc"

; The frame of svm_enter() below the registers that it keeps.
%define REGS rsp
%define VMCB_PA rsp + 8
%define HOST_VMCB_PA rsp + 16
%define KICK rsp + 24
%define FRAME 32

; int svm_enter(struct guest_regs *regs, u64 vmcb_pa, u64 host_vmcb_pa, const u32 *kick): called with GIF = 0, returns with 1
global svm_enter
svm_enter:
	push	rbp
	push	rbx
	push	r12
	push	r13
	push	r14
	push	r15
	push	rcx
	push	rdx
	push	rsi
	push	rdi
.guest:
	sti
	mov	rax, [VMCB_PA]	; VMLOAD, VMRUN and VMSAVE take their address in RAX
	vmload
.run:
	LOAD_GPRS
	mov	rdi, [GPR(7)]
	vmrun
	push	rdi		; RAX and RSP are the host's again: RAX the VMCB's address
	mov	rdi, [REGS + 8]
	SAVE_GPRS
	pop	qword [GPR(7)]
%ifdef CONFIG_LEAN_EXITS
	; With the guest's GS and TR still, and GIF = 0: svm.h.
	extern	svm_lean
	lea	rbp, [rsp + FRAME + 40]	; svm_enter's, for a backtrace
	call	svm_lean
	mov	rdi, [REGS]
	test	eax, eax
	mov	ebx, eax
	mov	rax, [VMCB_PA]
	js	.run
%endif
	vmsave
	mov	rax, [HOST_VMCB_PA]
	vmload
	cli
	stgi
%ifdef CONFIG_LEAN_EXITS
	extern	svm_lean_host
	mov	eax, ebx
	jz	.out
	call	svm_lean_host
	test	eax, eax
	jns	.out
	clgi
	mov	eax, 1
	mov	rcx, [KICK]
	mov	rdi, [REGS]
	cmp	dword [rcx], 0
	je	.guest
	stgi
%endif
.out:
	add	rsp, FRAME
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
