; SPDX-License-Identifier: GPL-2.0-only
;
; The way of a tiny guest's CPUs into 64-bit C: the first from the multiboot
; entry, the others from their SIPI through a copy of ap_start at AP_PAGE.

%define AP_PAGE 0x8000
%define STACK_SIZE 16384

section .multiboot
align 4
	dd	0x1badb002, 3, -(0x1badb002 + 3)	; modules page-aligned, memory information

extern tiny_main, ap_main

; ---- segments: SEL_* of cpu.h ---------------------------------------------

section .data
align 16
global gdt
gdt:
	dq	0
	dq	0x00af9b000000ffff	; 08 ring 0, 64-bit code
	dq	0x00cf93000000ffff	; 10 ring 0, flat data
	dq	0x00cf9b000000ffff	; 18 ring 0, 32-bit code
	dq	0x00009b000000ffff	; 20 ring 0, 16-bit code
	dq	0x000093000000ffff	; 28 ring 0, 16-bit data
	dq	0x00cffb000000ffff	; 30 ring 3, 32-bit code
	dq	0x00cff3000000ffff	; 38 ring 3, flat data
	dq	0x00affb000000ffff	; 40 ring 3, 64-bit code
	dq	0x0000fb000000ffff	; 48 ring 3, 16-bit code
	times 4 dq 0			; 50 for the guest itself
	times 2 * 192 dq 0		; 70 one TSS per CPU: MAX_CPUS
gdt_end:
global gdt_pointer
gdt_pointer:
	dw	gdt_end - gdt - 1
	dq	gdt

; ---- 32-bit entry ----------------------------------------------------------

section .bss
alignb 4096
global pml4, page_dirs
pml4:		resb 4096
pdpt:		resb 4096
page_dirs:	resb 4 * 4096		; the first 4 GiB, 2 MiB pages
boot_stack:	resb STACK_SIZE
boot_stack_top:
global entry_regs
entry_regs:	resq 14

section .text
bits 32
global start32
start32:
	mov	[entry_regs], ecx
	mov	[entry_regs + 8], edx
	mov	[entry_regs + 16], esi
	mov	[entry_regs + 24], edi
	mov	[entry_regs + 32], ebp
	mov	[entry_regs + 40], esp
	cli
	mov	esp, boot_stack_top
	push	eax
	push	ebx
	cld
	mov	edi, page_dirs
	mov	eax, 0xe7		; P, W, U, A, D, PS
	mov	ecx, 2048
.fill:
	mov	[edi], eax
	mov	dword [edi + 4], 0
	add	eax, 0x200000
	add	edi, 8
	loop	.fill
	mov	dword [pml4], pdpt + 7
	mov	eax, page_dirs + 7
	mov	edi, pdpt
	mov	ecx, 4
.dirs:
	mov	[edi], eax
	add	eax, 0x1000
	add	edi, 8
	loop	.dirs
	pop	edx			; multiboot information
	pop	esi			; magic
	mov	edi, edx
	mov	ebp, after64
	jmp	to_long_mode

; Into 64-bit mode with the tables above; EBP: where to go on. Keeps ESI, EDI.
to_long_mode:
	mov	eax, cr4
	or	eax, 0x20		; PAE
	mov	cr4, eax
	mov	eax, pml4
	mov	cr3, eax
	mov	ecx, 0xc0000080		; EFER
	rdmsr
	or	eax, 0x100		; LME
	wrmsr
	mov	eax, cr0
	and	eax, ~0x60000000	; CD, NW
	or	eax, 0x80000021		; PG, NE, PE
	mov	cr0, eax
	lgdt	[gdt_pointer]
	jmp	0x08:.long
bits 64
.long:
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	xor	eax, eax
	mov	fs, eax
	mov	gs, eax
	mov	ebp, ebp
	jmp	rbp

after64:
%assign n 8
%rep 8
	mov	[entry_regs + (n - 2) * 8], r %+ n
	%assign n n + 1
%endrep
	mov	esp, boot_stack_top
	xor	ebp, ebp
	call	tiny_main		; (info, magic)
	ud2

; ---- the other CPUs ---------------------------------------------------------

; Copied to AP_PAGE: real mode, CS:IP = AP_PAGE >> 4 : 0.
bits 16
global ap_start, ap_end
ap_start:
	cli
	mov	ax, cs
	mov	ds, ax
	o32 lgdt [ap_gdt_pointer - ap_start]
	mov	eax, cr0
	or	al, 1
	mov	cr0, eax
	jmp	dword 0x18:ap_start32
align 8
ap_gdt_pointer:
	dw	0x4f
	dd	gdt
ap_end:

bits 32
ap_start32:
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	mov	ebp, ap64
	jmp	to_long_mode
bits 64
ap64:
	mov	rsp, [ap_stack]
	xor	ebp, ebp
	call	ap_main
	ud2

section .data
global ap_stack
ap_stack:	dq 0
