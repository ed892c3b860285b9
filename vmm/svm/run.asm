; SPDX-License-Identifier: GPL-2.0-only
;
; The world switch of VMs that are trusted, and on CPUs that need nothing against speculation.

bits 64
default rel
section .text

%include "svm/world.inc"

; void svm_vmsave(u64 vmcb_pa)
global svm_vmsave
svm_vmsave:
	mov	rax, rdi
	vmsave
	ret
