; SPDX-License-Identifier: GPL-2.0-only
;
; #AC in 32-bit mode, ring 3, whose handler is ring 3 as well: no change of stack.

section .data
align 8
global ac_handled, ac_about
ac_handled:	dd 0
ac_about:	dd 0
idt_pointer:	dw 32 * 8 - 1
		dd ac_idt
extern ac_idt

section .text
bits 32
global ac_endless, ac_handler
ac_endless:				; does not return
	lidt	[idt_pointer]
	mov	eax, cr0
	or	eax, 0x40000		; AM
	mov	cr0, eax
	mov	eax, 0x3b
	mov	ds, eax
	mov	es, eax
	push	dword 0x3b
	push	dword stack_top - 2	; misaligned
	push	dword 0x40002		; AC
	push	dword 0x33
	push	dword user
	iretd
user:
	mov	dword [ac_about], 1
	push	eax
ac_handler:
	inc	dword [ac_handled]
	jmp	ac_handler

section .bss
alignb 16
stack:		resb 256
stack_top:
