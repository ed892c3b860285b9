; SPDX-License-Identifier: GPL-2.0-only
;
; Out of 64-bit mode and back: `mode_run` takes the CPU to 32-bit protected mode,
; from there to 16-bit protected and to real mode, and returns in 64-bit mode.
; What ran there is counted in mode_marks.

%include "paging.inc"

%define LOW 0x9000	; where the real-mode part is copied to

section .data
align 8
global mode_marks, mode_cpuid
mode_marks:	dd 0
mode_cpuid:	dd 0, 0, 0, 0	; leaf 0's EAX as each mode saw it
saved_rsp:	dq 0
extern gdt, gdt_pointer, pml4

section .text
bits 64
global mode_run
mode_run:
	push	rbx
	push	rbp
	push	r12
	push	r13
	push	r14
	push	r15
	sidt	[idt_save]
	mov	[saved_rsp], rsp
	push	qword 0x18
	push	qword compat
	retfq
bits 32
compat:					; compatibility mode
	mov	eax, 0x10
	mov	ds, eax
	mov	fs, eax
	mov	es, eax
	mov	ss, eax
	mov	esp, stack_top
	xor	eax, eax
	cpuid
	mov	[mode_cpuid], eax
	inc	dword [mode_marks]
	paging_off
	xor	eax, eax
	cpuid
	mov	[mode_cpuid + 4], eax
	mov	eax, [0xfee00020]	; MMIO, through DS and ES
	mov	ecx, [es:0xfee00030]
	test	ecx, ecx
	jz	.no
	inc	dword [mode_marks]
.no:
	in	al, 0x81
	out	0x80, al
	mov	eax, [0x80000000]	; keeps the A20 line's and the limits' ways apart: no RAM here, reads ones
	inc	eax
	jnz	.limits
	inc	dword [mode_marks]
.limits:
	mov	ecx, 0x5a5a5a5a
	smsw	ecx			; all of CR0, or half of the register
	mov	eax, cr0
	cmp	eax, ecx
	jne	.msw
	mov	ecx, 0x5a5a5a5a
	smsw	cx
	push	dword 0x5a5a5a5a
	smsw	[esp]
	pop	edx
	cmp	ecx, edx
	jne	.msw
	cmp	cx, ax
	jne	.msw
	shr	ecx, 16
	cmp	cx, 0x5a5a
	jne	.msw
	inc	dword [mode_marks]
.msw:
	jmp	0x20:LOW + (protected16 - low_start)

bits 16
global low_start, low_end
low_start:
protected16:				; 16-bit protected mode
	mov	ax, 0x28
	mov	ds, ax
	mov	ss, ax
	mov	sp, 0x7f00
	xor	eax, eax
	cpuid
	mov	[LOW + (low_cpuid - low_start)], eax
	in	al, 0x81
	out	0x80, al
	mov	eax, cr0
	and	al, 0xfe
	mov	cr0, eax
	jmp	0:LOW + (real - low_start)
real:					; real mode; FS and GS keep their 4 GiB limits: big real mode
	xor	ax, ax
	mov	ds, ax
	mov	ss, ax
	mov	sp, 0x7f00
	o32 lidt [LOW + (ivt - low_start)]
	mov	word [0x60 * 4], LOW + (handler - low_start)
	mov	word [0x60 * 4 + 2], 0
	mov	word [6 * 4], LOW + (undefined - low_start)
	mov	word [6 * 4 + 2], 0
	mov	word [13 * 4], LOW + (protection - low_start)
	mov	word [13 * 4 + 2], 0
	int	0x60
	ud2
	xor	eax, eax
	cpuid
	mov	[LOW + (low_cpuid - low_start) + 4], eax
	in	al, 0x81
	mov	dx, 0x80
	out	dx, al
	mov	si, 0x7000
	mov	cx, 3
	rep outsb
	mov	ebx, 0xfee00030
	mov	eax, [fs:ebx]		; big real mode: MMIO above 1 MiB
	test	eax, eax
	jz	.no
	inc	word [LOW + (marks - low_start)]
.no:
	push	word 0x5a5a
	mov	bp, sp
	smsw	[bp]
	pop	cx
	smsw	dx
	smsw	esi
	mov	eax, cr0
	cmp	eax, esi
	jne	.msw
	cmp	ax, cx
	jne	.msw
	cmp	ax, dx
	jne	.msw
	inc	word [LOW + (marks - low_start)]
.msw:
	mov	ecx, 0x277
	rdmsr
	wrmsr
	mov	ecx, 0x7fffffff
	rdmsr				; #GP, which has no error code here
	wbinvd
	o32 lgdt [LOW + (gdt_low - low_start)]
	mov	eax, cr0
	or	al, 1
	mov	cr0, eax
	jmp	dword 0x18:back32
handler:
	inc	word [LOW + (marks - low_start)]
	iret
undefined:				; steps over UD2
	inc	word [LOW + (marks - low_start)]
	push	bp
	mov	bp, sp
	add	word [bp + 2], 2
	pop	bp
	iret
protection:				; steps over RDMSR
	inc	word [LOW + (marks - low_start)]
	push	bp
	mov	bp, sp
	add	word [bp + 2], 2
	pop	bp
	iret
align 4
ivt:		dw 0x3ff
		dd 0
gdt_low:	dw 0x14f
		dd gdt
marks:		dw 0
align 4
low_cpuid:	dd 0, 0
low_end:

bits 32
back32:
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	mov	fs, eax
	mov	eax, [LOW + (low_cpuid - low_start)]
	mov	[mode_cpuid + 8], eax
	mov	eax, [LOW + (low_cpuid - low_start) + 4]
	mov	[mode_cpuid + 12], eax
	movzx	eax, word [LOW + (marks - low_start)]
	add	[mode_marks], eax
	paging_on
	lgdt	[gdt_pointer]
	jmp	0x08:back64
bits 64
back64:
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	mov	rsp, [saved_rsp]
	lidt	[idt_save]
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rbp
	pop	rbx
	ret

section .bss
alignb 16
idt_save:	resb 16
stack:		resb 4096
stack_top:
