; SPDX-License-Identifier: GPL-2.0-only
;
; What a CPU executes after its startup IPI: from real mode at vector * 4 KiB
; to 64-bit mode and the kernel. SDM vol. 3, 9.4 (CS:IP after the IPI), 10.8.5
; (enabling IA-32e mode).
;
; The code is linked into read-only data and runs from a copy in low memory
; (cpu/trampoline.c), so it uses nothing but offsets from its first byte. The
; words at the end are filled in by the boot CPU for one CPU at a time.

CR0_PE          equ 1 << 0
CR0_WP          equ 1 << 16
CR0_PG          equ 1 << 31
CR4_PAE         equ 1 << 5
MSR_EFER        equ 0xc0000080
EFER_LME        equ 1 << 8
EFER_NXE        equ 1 << 11             ; the kernel's tables have NX set

TRAMPOLINE_CODE64 equ 0x08
TRAMPOLINE_DATA   equ 0x10
TRAMPOLINE_CODE32 equ 0x18

; Offset in the copy
%define T(sym) ((sym) - trampoline_start)

default rel

section .rodata progbits alloc noexec nowrite align=16
global trampoline_start, trampoline_end
global trampoline_cr3, trampoline_stack, trampoline_entry, trampoline_arg

bits 16
trampoline_start:
	cli
	cld
	mov ax, cs
	mov ds, ax
	movzx ebx, ax
	shl ebx, 4                              ; EBX: address of the copy

	; There is no stack to return from and the address is known only now.
	lea eax, [ebx + T(trampoline_gdt)]
	mov [T(gdtr) + 2], eax
	lea eax, [ebx + T(protected_mode)]
	mov [T(to_protected_mode)], eax
	lea eax, [ebx + T(long_mode)]
	mov [T(to_long_mode)], eax

	o32 lgdt [T(gdtr)]
	mov eax, cr0
	or eax, CR0_PE
	mov cr0, eax
	jmp dword far [T(to_protected_mode)]

bits 32
protected_mode:
	mov eax, TRAMPOLINE_DATA
	mov ds, eax
	mov ss, eax
	mov eax, cr4
	or eax, CR4_PAE
	mov cr4, eax
	mov eax, [ebx + T(trampoline_cr3)]
	mov cr3, eax
	mov ecx, MSR_EFER
	rdmsr
	or eax, EFER_LME | EFER_NXE
	wrmsr
	mov eax, cr0
	or eax, CR0_PG | CR0_WP
	mov cr0, eax
	jmp dword far [ebx + T(to_long_mode)]

bits 64
long_mode:
	mov rsp, [trampoline_stack]
	mov rdi, [trampoline_arg]
	; A return address and a frame pointer of 0 end the backtrace.
	xor ebp, ebp
	push rbp
	jmp [trampoline_entry]

align 8, db 0
trampoline_gdt:
	dq 0
	dq 0x00af9b000000ffff                   ; 64-bit code
	dq 0x00cf93000000ffff                   ; data
	dq 0x00cf9b000000ffff                   ; 32-bit code
gdtr:
	dw $ - trampoline_gdt - 1
	dd 0
to_protected_mode:
	dd 0
	dw TRAMPOLINE_CODE32
to_long_mode:
	dd 0
	dw TRAMPOLINE_CODE64
align 8, db 0
trampoline_cr3:         dq 0            ; below 4 GiB
trampoline_stack:       dq 0            ; top
trampoline_entry:       dq 0            ; void entry(void *arg), does not return
trampoline_arg:         dq 0
trampoline_end:
