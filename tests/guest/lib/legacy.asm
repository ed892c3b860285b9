; SPDX-License-Identifier: GPL-2.0-only
;
; legacy_enter: from 64-bit mode to 32-bit protected mode without paging, and
; back when the code that is called there returns.

%include "paging.inc"

bits 64
extern pml4

section .text
global legacy_enter
legacy_enter:				; u32 legacy_enter(void (*fn)(void))
	push	rbx
	push	rbp
	push	r12
	push	r13
	push	r14
	push	r15
	mov	ebx, edi
	push	qword 0x18
	push	qword compat
	retfq
bits 32
compat:
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	paging_off
	call	ebx
	mov	ebx, eax
	paging_on
	jmp	0x08:back
bits 64
back:
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	mov	esp, esp
	mov	eax, ebx
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbp
	pop	rbx
	ret
