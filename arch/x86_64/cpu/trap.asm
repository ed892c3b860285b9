; SPDX-License-Identifier: GPL-2.0-only
;
; Entry stubs of the 256 interrupt vectors. Each leaves a struct trap_frame
; (trap.h) and calls trap_dispatch(). All code is ring 0, so GS is never
; swapped. SDM vol. 3, 6.14 (64-bit mode stack frame).

extern trap_dispatch

section .text
global trap_stubs

; Vectors whose exception pushes an error code (SDM vol. 3, table 6-1): 8, 10-14, 17, 21, 29, 30.
ERROR_VECTORS equ 1 << 8 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 17 | 1 << 21 | 1 << 29 | 1 << 30

; Eight bytes each (trap.c): the vector as a signed byte, and where to go on.
align 8
trap_stubs:
%assign vec 0
%rep 256
	align 8
	push byte vec - 128
%if vec < 32 && (ERROR_VECTORS >> vec) & 1
	jmp near trap_common
%else
	jmp near trap_no_error
%endif
%assign vec vec + 1
%endrep

; The stub's word again, and 0 where the error code would stand.
trap_no_error:
	push qword [rsp]
	mov qword [rsp + 8], 0
trap_common:
	sub qword [rsp], -128
	push rax
	push rbx
	push rcx
	push rdx
	push rsi
	push rdi
	push rbp
	push r8
	push r9
	push r10
	push r11
	push r12
	push r13
	push r14
	push r15
	mov rdi, rsp
	; A stack frame that says "called from the interrupted instruction", for backtraces.
	push qword [rdi + 17 * 8]               ; rip: above 15 registers, vector, error
	push rbp
	mov rbp, rsp
	cld
	call trap_dispatch
	add rsp, 16
	pop r15
	pop r14
	pop r13
	pop r12
	pop r11
	pop r10
	pop r9
	pop r8
	pop rbp
	pop rdi
	pop rsi
	pop rdx
	pop rcx
	pop rbx
	pop rax
	add rsp, 16
	iretq
