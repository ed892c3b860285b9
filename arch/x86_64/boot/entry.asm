; SPDX-License-Identifier: GPL-2.0-only
;
; Multiboot2 header and the way from its 32-bit entry state to long mode.
; Multiboot2 specification 2.0, sections 3.1 (header) and 3.3 (machine state);
; SDM vol. 3, 10.8.5 (enabling IA-32e mode).
;
; The image may lie at any 2 MiB aligned address below 4 GiB: 32-bit code finds
; the load address and uses nothing but offsets from it. The early tables map
; the first 4 GiB at 0 and at the direct map's place, and the image at its
; linked address; paging.c replaces them.

IMAGE_VIRT      equ 0xffffffff80200000  ; linked address of image_start (margay.lds)
IMAGE_PHYS      equ 0x200000            ; its physical address when not relocated

MB2_MAGIC       equ 0xe85250d6          ; in the header
MB2_BOOT_MAGIC  equ 0x36d76289          ; in EAX at entry
MB2_OPTIONAL    equ 1                   ; header tag flag

CPUID_EXT       equ 0x80000001
CPUID_EXT_LM    equ 29                  ; EDX: long mode
CR0_PE          equ 1 << 0
CR0_WP          equ 1 << 16
CR0_PG          equ 1 << 31
CR4_PAE         equ 1 << 5
MSR_EFER        equ 0xc0000080
EFER_LME        equ 1 << 8
PTE_PW          equ 0x3                 ; present, writable
PTE_PS          equ 0x80

BOOT_SEL_CODE   equ 0x08
BOOT_SEL_DATA   equ 0x10

COM1            equ 0x3f8
SCRATCH         equ 0x7bfc              ; RAM on every PC; saved and put back

; 32-bit offset of a symbol from the start of the image
%define OFF(sym) ((sym) - IMAGE_VIRT)

extern kernel_start

section .multiboot progbits alloc noexec nowrite align=8
mb2_header:
	dd MB2_MAGIC, 0, mb2_header_end - mb2_header
	dd 0x100000000 - (MB2_MAGIC + (mb2_header_end - mb2_header))
	; information request: memory map; without it there is nothing to work with
	dw 1, 0
	dd 12, 6
	align 8, db 0
	; information request, optional: command line, modules, ACPI 1.0 and 2.0 RSDP, EFI memory map, load base
	dw 1, MB2_OPTIONAL
	dd 32, 1, 3, 14, 15, 17, 21
	align 8, db 0
%ifdef CONFIG_SCREEN
	; framebuffer, optional: 1024x768 pixels of 32 bits, or as there is
	dw 5, MB2_OPTIONAL
	dd 20, 1024, 768, 32
	align 8, db 0
%endif
	; modules on page boundaries
	dw 6, 0
	dd 8
	; relocatable: lowest address, highest, alignment, preference: lowest
	dw 10, 0
	dd 24, IMAGE_PHYS, 0xffe00000, 0x200000, 1
	; end
	dw 0, 0
	dd 8
mb2_header_end:

section .boot progbits alloc exec nowrite align=16
bits 32
global _start
_start:
	cli
	cld
	; ESP is undefined: borrow a word of low memory to learn where we are.
	mov ecx, [SCRATCH]
	mov esp, SCRATCH + 4
	call .here
.here:
	pop edi
	mov [SCRATCH], ecx
	sub edi, OFF(.here)                     ; EDI: load address of the image
	lea esp, [edi + OFF(boot_stack_top)]

	lea esi, [edi + OFF(msg_magic)]
	cmp eax, MB2_BOOT_MAGIC
	jne refuse
	mov ebp, ebx                            ; EBP: multiboot2 information

	lea esi, [edi + OFF(msg_long_mode)]
	mov eax, CPUID_EXT & 0x80000000
	cpuid
	cmp eax, CPUID_EXT
	jb refuse
	mov eax, CPUID_EXT
	cpuid
	bt edx, CPUID_EXT_LM
	jnc refuse

	; Tables: 2 MiB pages of the first 4 GiB, reached from PML4[0] and PML4[256].
	lea ebx, [edi + OFF(boot_pd)]
	mov eax, PTE_PW | PTE_PS
	mov ecx, 4 * 512
.fill_low:
	mov [ebx], eax
	mov dword [ebx + 4], 0
	add eax, 0x200000
	add ebx, 8
	loop .fill_low

	lea ebx, [edi + OFF(boot_pdpt_low)]
	lea eax, [edi + OFF(boot_pd) + PTE_PW]
	mov ecx, 4
.fill_pdpt:
	mov [ebx], eax
	add eax, 0x1000
	add ebx, 8
	loop .fill_pdpt

	; The image: virtual -2 GiB + n is physical load address - 2 MiB + n, 1 GiB long.
	lea ebx, [edi + OFF(boot_pd_image)]
	lea eax, [edi - IMAGE_PHYS + (PTE_PW | PTE_PS)]
	xor edx, edx
	mov ecx, 512
.fill_image:
	mov [ebx], eax
	mov [ebx + 4], edx
	add eax, 0x200000
	adc edx, 0
	add ebx, 8
	loop .fill_image

	lea eax, [edi + OFF(boot_pd_image) + PTE_PW]
	mov [edi + OFF(boot_pdpt_high) + 510 * 8], eax
	lea eax, [edi + OFF(boot_pdpt_low) + PTE_PW]
	mov [edi + OFF(boot_pml4)], eax
	mov [edi + OFF(boot_pml4) + 256 * 8], eax
	lea eax, [edi + OFF(boot_pdpt_high) + PTE_PW]
	mov [edi + OFF(boot_pml4) + 511 * 8], eax

	; Nothing of what firmware left there: LA57 would make these tables one level short.
	mov eax, CR4_PAE
	mov cr4, eax
	lea eax, [edi + OFF(boot_pml4)]
	mov cr3, eax
	mov ecx, MSR_EFER
	rdmsr
	or eax, EFER_LME
	wrmsr
	mov eax, cr0
	or eax, CR0_PG | CR0_WP | CR0_PE
	mov cr0, eax

	lea eax, [edi + OFF(boot_gdt)]
	mov [edi + OFF(boot_gdtr) + 2], eax
	lgdt [edi + OFF(boot_gdtr)]
	push dword BOOT_SEL_CODE
	lea eax, [edi + OFF(long_mode)]
	push eax
	retf

; One line on COM1, whatever its state was, then stop. ESI: text.
refuse:
	mov dx, COM1 + 3
	mov al, 0x83                            ; divisor latch, 8n1
	out dx, al
	mov dx, COM1
	mov al, 1                               ; 115200
	out dx, al
	inc dx
	xor al, al
	out dx, al
	mov dx, COM1 + 3
	mov al, 0x03
	out dx, al
.next:
	lodsb
	test al, al
	jz .stop
	mov ah, al
	mov ecx, 0x100000                       ; a port that is not there must not hang us
	mov dx, COM1 + 5
.wait:
	in al, dx
	test al, 0x20
	loopz .wait
	mov al, ah
	mov dx, COM1
	out dx, al
	jmp .next
.stop:
	cli
	hlt
	jmp .stop

bits 64
long_mode:
	mov rax, .high
	jmp rax
.high:
	mov rsp, boot_stack_top
	mov rax, boot_gdt
	mov [rel boot_gdtr + 2], rax
	lgdt [rel boot_gdtr]
	mov eax, BOOT_SEL_DATA
	mov ds, eax
	mov es, eax
	mov ss, eax
	xor eax, eax
	mov fs, eax
	mov gs, eax
	mov esi, edi                            ; load_base
	mov edi, ebp                            ; mbi_phys
	mov rdx, boot_stack
	mov rcx, rsp                            ; its top
	xor ebp, ebp                            ; ends the backtrace
	call kernel_start
.stop:
	cli
	hlt
	jmp .stop

section .rodata
msg_magic:      db "margay: not started by a multiboot2 loader: use GRUB's multiboot2 command", 13, 10, 0
msg_long_mode:  db "margay: this CPU has no long mode (CPUID 80000001h EDX bit 29)", 13, 10, 0

section .data align=16
boot_gdt:
	dq 0
	dq 0x00af9b000000ffff                   ; 64-bit code
	dq 0x00cf93000000ffff                   ; data
boot_gdtr:
	dw $ - boot_gdt - 1
	dq 0

section .bss nobits alloc noexec write align=4096
boot_pml4:      resb 4096
boot_pdpt_low:  resb 4096
boot_pdpt_high: resb 4096
boot_pd_image:  resb 4096
boot_pd:        resb 4 * 4096
boot_stack:     resb 16384
boot_stack_top:
