; SPDX-License-Identifier: GPL-2.0-only
;
; The world switch of VMs that are not trusted, on CPUs that need something against speculation at exits or entries.

bits 64
default rel
section .text

%define CLEAN
%include "svm/world.inc"
