; SPDX-License-Identifier: GPL-2.0-only
;
; The world switch of VMs that are trusted, and on CPUs that need nothing against speculation.

bits 64
default rel
section .text

%include "vmx/world.inc"

section .nmi_table progbits alloc noexec nowrite align=8
	dq vmx_enter.begin, vmx_enter.failed, vmx_enter.kicked
%ifdef CONFIG_LEAN_EXITS
	dq again.begin, again.failed, again.kicked
%endif
