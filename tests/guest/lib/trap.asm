; SPDX-License-Identifier: GPL-2.0-only
;
; Entries of all 256 vectors (one layout of frame, struct trap_frame of cpu.h),
; the way to ring 3 and back, and a context to which a trap can return.

bits 64
extern trap_common

section .text

%macro stub 1
	align 16
	%if %1 == 8 || (%1 >= 10 && %1 <= 14) || %1 == 17 || %1 == 21 || %1 == 29 || %1 == 30
	nop
	nop
	%else
	push	0			; no error code: 2 bytes, as the two NOPs
	%endif
	push	dword %1
	jmp	near save
%endmacro

align 16
global trap_stubs
trap_stubs:
%assign v 0
%rep 256
	stub v
	%assign v v + 1
%endrep

save:
	push	rax
	push	rcx
	push	rdx
	push	rbx
	push	rbp
	push	rsi
	push	rdi
	push	r8
	push	r9
	push	r10
	push	r11
	push	r12
	push	r13
	push	r14
	push	r15
	cld
	mov	rdi, rsp
	mov	rbp, rsp
	and	rsp, -16
	call	trap_common
	mov	rsp, rbp
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	r11
	pop	r10
	pop	r9
	pop	r8
	pop	rdi
	pop	rsi
	pop	rbp
	pop	rbx
	pop	rdx
	pop	rcx
	pop	rax
	add	rsp, 16
	iretq

; int context_save(struct context *c): 0; 1 when context_restore() comes back here
global context_save
context_save:
	mov	[rdi], rbx
	mov	[rdi + 8], rbp
	mov	[rdi + 16], r12
	mov	[rdi + 24], r13
	mov	[rdi + 32], r14
	mov	[rdi + 40], r15
	lea	rax, [rsp + 8]
	mov	[rdi + 48], rax
	mov	rax, [rsp]
	mov	[rdi + 56], rax
	pushfq
	pop	qword [rdi + 64]
	xor	eax, eax
	ret

; void context_restore(struct context *c): in ring 0 only
global context_restore
context_restore:
	mov	rbx, [rdi]
	mov	rbp, [rdi + 8]
	mov	r12, [rdi + 16]
	mov	r13, [rdi + 24]
	mov	r14, [rdi + 32]
	mov	r15, [rdi + 40]
	mov	rsp, [rdi + 48]
	push	qword [rdi + 64]
	popfq
	mov	eax, 1
	jmp	[rdi + 56]

; void user_enter(void (*fn)(void *), void *arg, u64 stack): leaves by INT 0x20 when fn returns
global user_enter
user_enter:
	push	0x3b			; SEL_USER_DATA | 3
	sub	rdx, 16
	mov	qword [rdx], user_leave
	push	rdx
	push	2
	push	0x43			; SEL_USER_CODE64 | 3
	push	rdi
	mov	rdi, rsi
	mov	eax, 0x3b
	mov	ds, eax
	mov	es, eax
	iretq
user_leave:
	int	0x20
	ud2
