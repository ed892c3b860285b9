; SPDX-License-Identifier: GPL-2.0-only
;
; A far call to a second task, which returns by IRET.

section .data
align 4
global task_ran
task_ran:	dd 0

section .text
bits 32
global task_switch, task_second
task_switch:				; SEL_FREE: this task, SEL_FREE + 8: the second
	push	ebx
	mov	eax, 0x50
	ltr	ax
	mov	ebx, 7
	call	0x58:0
	mov	eax, ebx
	pop	ebx
	ret
task_second:
	inc	ecx
	mov	[task_ran], ecx
	mov	ebx, 1
	iretd
