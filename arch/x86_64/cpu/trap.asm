; SPDX-License-Identifier: GPL-2.0-only
;
; Entry stubs of exceptions, of the 8259s' and of the hypervisor's own vectors. Each leaves a struct trap_frame
; (trap.h) and calls trap_dispatch(). All code is ring 0, so GS is never
; swapped; one that may be a guest's is trap_dispatch()'s affair. SDM vol. 3, 6.14 (64-bit mode stack frame).

%include "cpu/trap_stubs.inc"

extern trap_dispatch

section .text
global trap_stubs
global trap_common

align 8
trap_stubs:
	STUBS 0, 0x30
	STUBS 0xf0, 0x10

trap_common:
	; The CPU aligns RSP to 16 bytes and pushes five words, or six with an error code. With five: the stub's word again,
	; and 0 where the error code would stand.
	test spl, 8
	jnz .error_code
	push qword [rsp]
	mov qword [rsp + 8], 0
.error_code:
	sub qword [rsp], -128
	push rax
	push rbx
	push rcx
	push rdx
	push rsi
	push rdi
	push rbp
	push r8
	push r9
	push r10
	push r11
	push r12
	push r13
	push r14
	push r15
	mov rdi, rsp
	; A stack frame that says "called from the interrupted instruction", for backtraces.
	push qword [rdi + 17 * 8]               ; rip: above 15 registers, vector, error
	push rbp
	mov rbp, rsp
	cld
	call trap_dispatch
	add rsp, 16
	pop r15
	pop r14
	pop r13
	pop r12
	pop r11
	pop r10
	pop r9
	pop r8
	pop rbp
	pop rdi
	pop rsi
	pop rdx
	pop rcx
	pop rbx
	pop rax
	add rsp, 16
	iretq
