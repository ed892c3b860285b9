; SPDX-License-Identifier: GPL-2.0-only
;
; 32-bit mode, ring 3, a misaligned stack, EFLAGS.AC: an interrupt through
; cut_ring3's gates, whose handlers are ring 3 as well, raises #AC when it pushes.
; The handler of that aligns the stack and loads cut_ring0, by which the interrupt
; comes when it comes again.

%define SEL_TASK 0x50
%define USER_CODE 0x33
%define USER_DATA 0x3b
%define EXTRA 0xd1
%define TIMER 0x61
%define PATIENCE 20000

section .data
align 16
cut_ring3_pointer:	dw 256 * 8 - 1
			dd cut_ring3
cut_ring0_pointer:	dw 256 * 8 - 1
			dd cut_ring0
extern cut_ring3, cut_ring0, cut_plan, cut_rounds, cut_vectors, cut_ordered, cut_sent, cut_came, cut_partner
global cut_cuts, cut_wrong, cut_disorder, cut_not_served, cut_nmis, cut_spin, cut_timer
cut_cuts:	dd 0
cut_wrong:	dd 0	; handlers that were come to where they should not
cut_disorder:	dd 0
cut_not_served:	dd 0
cut_nmis:	dd 0
cut_spin:	dd 0
cut_timer:	dd 0
last:		dd 0
extra:		dd 0
main_esp:	dd 0

section .text
bits 32
global cut_main, cut_stubs, cut_uncut, cut_ac, cut_nmi, cut_back

%macro wrmsr_low 1			; EAX to a register of the x2APIC
	mov	ecx, 0x800 + %1
	xor	edx, edx
	wrmsr
%endmacro

cut_main:				; u32 cut_main(void): the rounds that came to their end
	push	ebx
	push	esi
	push	edi
	push	ebp
	mov	eax, SEL_TASK
	ltr	ax
	mov	eax, USER_DATA
	mov	ds, eax
	mov	es, eax
	mov	eax, cr0
	or	eax, 0x40000		; AM
	mov	cr0, eax
	lidt	[cut_ring3_pointer]
	xor	esi, esi
.round:
	cmp	esi, [cut_rounds]
	jae	.last
	mov	eax, esi
	and	eax, 4095
	mov	edi, [cut_plan + eax * 4]
	mov	dword [last], 256
	xor	ebx, ebx
.send:					; bits 7:0: these are all pending before the first of them comes
	bt	edi, ebx
	jnc	.not
	movzx	eax, byte [cut_vectors + ebx]
	inc	dword [cut_sent + eax * 4]
	wrmsr_low 0x3f
.not:
	inc	ebx
	cmp	ebx, 8
	jb	.send
	bt	edi, 8
	jnc	.no_timer
	mov	eax, [cut_sent + TIMER * 4]
	cmp	eax, [cut_came + TIMER * 4]
	jne	.no_timer
	inc	dword [cut_sent + TIMER * 4]
	mov	eax, [cut_timer]
	wrmsr_low 0x38
.no_timer:
	shr	edi, 9
	and	edi, 1
	mov	[extra], edi
	mov	ebp, PATIENCE
.wait:
	call	ring3
	mov	ebx, 8			; and EXTRA
.look:
	movzx	eax, byte [cut_vectors + ebx]
	mov	edx, [cut_sent + eax * 4]
	cmp	edx, [cut_came + eax * 4]
	jne	.more
	dec	ebx
	jns	.look
	inc	esi
	jmp	.round
.more:
	dec	ebp
	jnz	.wait
	jmp	.done
.last:					; what may still be under way
	shl	dword [cut_partner], 1
	mov	ebp, PATIENCE
.under_way:
	call	ring3
	dec	ebp
	jz	.done
	cmp	dword [cut_partner], 2
	je	.under_way
	mov	eax, [cut_sent + TIMER * 4]
	cmp	eax, [cut_came + TIMER * 4]
	jne	.under_way
.done:
	mov	eax, cr0
	and	eax, ~0x40000
	mov	cr0, eax
	mov	eax, esi
	pop	ebp
	pop	edi
	pop	esi
	pop	ebx
	ret

; Some instructions with interrupts on; saves none but EBX, ESI, EDI, EBP. INT comes back.
ring3:
	mov	[main_esp], esp
	mov	ecx, [cut_spin]
	push	dword USER_DATA
	push	dword stack_top - 2
	push	dword 0x40202		; AC, IF
	push	dword USER_CODE
	push	dword user
	iretd
user:
	dec	ecx
	jns	user
	int	0x80
cut_back:
	mov	esp, [main_esp]
	lidt	[cut_ring3_pointer]
	ret

cut_uncut:				; ring 3: an interrupt that was not cut
	inc	dword [cut_wrong]
	jmp	user

cut_nmi:
	inc	dword [cut_nmis]
	iretd

cut_ac:
	inc	dword [cut_cuts]
	mov	dword [esp + 16], stack_top
	lidt	[cut_ring0_pointer]
	push	eax
	push	ecx
	push	edx
	cmp	dword [extra], 0
	je	.none
	dec	dword [extra]
	mov	eax, EXTRA
	inc	dword [cut_sent + eax * 4]
	wrmsr_low 0x3f
.none:
	pop	edx
	pop	ecx
	pop	eax
	add	esp, 4
	iretd

align 16
cut_stubs:				; 16 bytes for each vector
%assign n 0
%rep 256
	push	dword n
	jmp	taken
	align	16
%assign n n + 1
%endrep

taken:					; ESP: vector, EIP, CS, EFLAGS, ESP, SS
	push	eax
	push	ecx
	push	edx
	push	ebx
	mov	ebx, [esp + 16]
	inc	dword [cut_came + ebx * 4]
	cmp	byte [cut_ordered + ebx], 0
	je	.any
	cmp	ebx, [last]
	mov	[last], ebx
	jb	.any
	inc	dword [cut_disorder]
.any:
	mov	ecx, ebx
	shr	ecx, 5
	add	ecx, 0x810		; ISR
	rdmsr
	bt	eax, ebx
	jc	.served
	inc	dword [cut_not_served]
.served:
	xor	eax, eax
	wrmsr_low 0x0b			; EOI
	mov	eax, stack_top - 2	; the next one is cut again
	lidt	[cut_ring3_pointer]
	test	byte [esp + 24], 3
	jnz	.from_ring3
	inc	dword [cut_wrong]
	mov	eax, [esp + 32]
.from_ring3:
	mov	[esp + 32], eax
	pop	ebx
	pop	edx
	pop	ecx
	pop	eax
	add	esp, 4
	iretd

section .bss
alignb 16
stack:		resb 256
stack_top:
