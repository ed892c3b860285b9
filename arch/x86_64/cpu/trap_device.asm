; SPDX-License-Identifier: GPL-2.0-only
;
; Entry stubs of the vectors 0x30 to 0xef, which only PCI functions have: without passthrough all of them share one of
; trap.asm's.

%include "cpu/trap_stubs.inc"

extern trap_common

section .text
global trap_device_stubs

align 8
trap_device_stubs:
	STUBS 0x30, 0xc0
