; SPDX-License-Identifier: GPL-2.0-only
;
; Where the compiler's indirect calls and jumps go, one for each register (-mindirect-branch=thunk-extern): by a RET whose
; prediction leads nowhere. 32 bytes each; the last ones are the plain jump, which kernel/cpu/mitigations.c copies over the first
; where the CPU needs no more.

bits 64
section .text

%macro THUNK 1
	align	32, int3
global __x86_indirect_thunk_%1
__x86_indirect_thunk_%1:
	call	%%go
%%nowhere:
	pause
	lfence
	jmp	%%nowhere
%%go:
	mov	[rsp], %1
	ret
	align	8, int3
	jmp	%1
%endmacro

	align	32, int3
global indirect_thunks
indirect_thunks:
	THUNK	rax
	THUNK	rcx
	THUNK	rdx
	THUNK	rbx
	THUNK	rbp
	THUNK	rsi
	THUNK	rdi
	THUNK	r8
	THUNK	r9
	THUNK	r10
	THUNK	r11
	THUNK	r12
	THUNK	r13
	THUNK	r14
	THUNK	r15
	align	32, int3
