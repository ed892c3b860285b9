/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What margay-check tells of a VM's Linux: which of KVM's paravirtual bits it uses, and what the
 * node decides by that.
 */
#ifndef TOOLS_CHECK_KERNEL_H
#define TOOLS_CHECK_KERNEL_H

#include "vmm/config/config.h"

/*
 * Lines to standard error. data: the file of a Linux kernel, or size 0: only its name is known.
 * all: one that is compressed is unpacked, by its program (xz, zstd, ...), and where there is
 * nothing unusual a line says so. False: what was said is an error.
 */
bool check_kernel(const struct vm_config *c, const void *data, size_t size, bool all);

#endif
