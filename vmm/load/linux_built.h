/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a Linux kernel was built with, as far as its image tells. One that is
 * compressed (bzImage) tells nothing. In any other stand the words of the command line that it
 * knows, which are an interface and stay: they are looked for.
 */
#ifndef VMM_LINUX_BUILT_H
#define VMM_LINUX_BUILT_H

#include "vmm/config/config.h"

/* What it was not built with. LINUX_BUILT_UNKNOWN: it does not tell, or is no Linux kernel. */
enum { LINUX_BUILT_NO_KVM_GUEST = 1, LINUX_BUILT_NO_X2APIC = 2, LINUX_BUILT_UNKNOWN = 4 };
unsigned linux_built_without(const void *data, u64 size);

/*
 * Why this Linux does without KVM's clock, and needs to be told its TSC's rate: a short text; NULL:
 * it has the clock, or does not tell.
 */
const char *linux_no_clock(const struct vm_config *c, const void *data, u64 size);

#endif
