; SPDX-License-Identifier: GPL-2.0-only
;
; From 32-bit protected mode with paging into virtual-8086 mode, until an
; exception or INT comes back to ring 0; and the code that runs there.

%define LOW 0x9000			; where C has copied the code to: segment 0x900

section .data
align 8
global v86_cr3, v86_ip, v86_flags, v86_vector, v86_error, v86_at, v86_eax, v86_ecx, v86_stack, v86_idt_pointer
v86_cr3:	dd 0
v86_ip:		dd 0
v86_flags:	dd 0
v86_vector:	dd 0
v86_error:	dd 0
v86_at:		dd 0
v86_eax:	dd 0
v86_ecx:	dd 0
saved_esp:	dd 0
v86_idt_pointer: dw 0
		dd 0

section .bss
alignb 16
		resb 1024
v86_stack:

section .text
bits 32
global v86_enter, v86_stubs
v86_enter:
	mov	[saved_esp], esp
	mov	eax, [v86_cr3]
	mov	cr3, eax
	mov	eax, cr4
	or	eax, 0x10		; PSE
	mov	cr4, eax
	mov	eax, cr0
	or	eax, 0x80000000
	mov	cr0, eax
	lidt	[v86_idt_pointer]
	mov	eax, 0x50
	ltr	ax
	push	dword 0			; GS, FS
	push	dword 0
	push	dword LOW >> 4		; DS, ES, SS
	push	dword LOW >> 4
	push	dword LOW >> 4
	push	dword 0xf00
	push	dword [v86_flags]
	push	dword LOW >> 4
	push	dword [v86_ip]
	mov	eax, 0x5a
	xor	ecx, ecx
	iretd

align 16
v86_stubs:				; 16 bytes per vector, 0 to 0x60
%assign v 0
%rep 0x61
	align 16
	%if v != 8 && (v < 10 || v > 14) && v != 17
	push	dword 0
	%endif
	push	dword v
	jmp	near back
	%assign v v + 1
%endrep
back:
	mov	[ss:v86_eax], eax	; DS is null
	mov	eax, 0x10
	mov	ds, eax
	mov	es, eax
	mov	[v86_ecx], ecx
	pop	dword [v86_vector]
	pop	dword [v86_error]
	pop	dword [v86_at]
	mov	esp, [saved_esp]
	mov	eax, cr0
	and	eax, 0x7fffffff
	mov	cr0, eax
	mov	eax, cr4
	and	eax, ~0x10
	mov	cr4, eax
	ret

; ---- 16-bit code: each ends by its own exception or by the UD2 behind it ------

bits 16
%macro code 2+
global v86_%1
v86_%1:
	%2
	ud2
%endmacro

section .rodata
global v86_low, v86_low_end
v86_low:
code int, int 0x60
code int3, int3
code in, in al, 0x81
code inw, in ax, 0x7f
code out, out 0x80, al
code cli, cli
code sti, sti
code pushf, pushf
code popf, popf
code hlt, hlt
code cpuid, cpuid
code rdmsr, rdmsr
code cr0, mov eax, cr0
code lmsw, lmsw ax
code wbinvd, wbinvd
code lldt, lldt ax
code ltr, ltr ax
code vmmcall, vmmcall
code vmcall, vmcall
global v86_outs
v86_outs:
	mov	dx, 0x80
	mov	si, 0
	mov	cx, 5
	rep outsb
	ud2
global v86_ins
v86_ins:
	mov	dx, 0x80
	mov	di, v86_buffer - v86_low
	mov	cx, 4
	rep insb
	mov	eax, [v86_buffer - v86_low]
	ud2
global v86_mmio
v86_mmio:				; C has mapped the local APIC there
	mov	ax, 0xa000
	mov	ds, ax
	mov	eax, [0x30]
	ud2
align 4
v86_buffer:	dd 0
v86_low_end:
