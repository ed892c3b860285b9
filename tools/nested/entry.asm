; SPDX-License-Identifier: GPL-2.0-only
; Stands in front of an uncompressed kernel in a bzImage of tools/nested-host: from the boot protocol's 32-bit entry
; (Documentation/arch/x86/boot.rst) to where a decompressor would go, the kernel's own 64-bit entry, ENTRY bytes behind this. Runs
; wherever it is loaded. nasm -f bin -DENTRY=...

TABLES	equ 0x10000			; PML4, PDPT and four page directories: 4 GiB, mapped to itself; zero in the file
STACK	equ 0x8000

bits 32
	cli
	cld
	lea	esp, [esi + 0x1e8]	; boot_params: the end of the scratch field
	call	here
here:	pop	ebp
	sub	ebp, here
	lea	esp, [ebp + STACK]
	lea	edi, [ebp + TABLES]
	lea	eax, [edi + 0x1003]
	mov	[edi], eax
	mov	ecx, 4
pdpt:	mov	eax, ecx
	shl	eax, 12
	lea	eax, [edi + eax + 0x1003]
	mov	[edi + 0x1000 + ecx * 8 - 8], eax
	loop	pdpt
	mov	eax, 0x83		; 2 MiB, writable, present
pages:	mov	[edi + 0x2000 + ecx * 8], eax
	add	eax, 0x200000
	inc	ecx
	cmp	ecx, 4 * 512
	jb	pages
	lea	eax, [ebp + gdt]
	mov	[ebp + gdt_pointer + 2], eax
	lgdt	[ebp + gdt_pointer]
	mov	eax, cr4
	or	eax, 1 << 5		; PAE
	mov	cr4, eax
	mov	cr3, edi
	mov	ecx, 0xc0000080		; EFER.LME
	rdmsr
	or	eax, 1 << 8
	wrmsr
	lea	eax, [ebp + long_mode]
	push	dword 0x10
	push	eax
	mov	eax, cr0
	or	eax, 1 << 31
	mov	cr0, eax
	retf
bits 64
long_mode:
	mov	eax, 0x18
	mov	ds, eax
	mov	es, eax
	mov	ss, eax
	mov	esi, esi		; boot_params; upper halves are undefined
	mov	ebp, ebp
	lea	rax, [rbp + ENTRY]
	jmp	rax

align 8
gdt:	dq 0, 0, 0x00af9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
	dw $ - gdt - 1
	dd 0
