/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the firmware's _CST has of the node's CPUs: host_cstates() of <margay/host_cst.h>. In images
 * with VM_CST.
 */
#ifndef KERNEL_CSTATES_H
#define KERNEL_CSTATES_H

#include <margay/cstates.h>

struct cpuid_regs;

/*
 * Pure: leaves of what firmware names that which a guest enters by MWAIT or HLT, on a CPU with this
 * leaf 5; C3 becomes C2. Another way is no way: a port would exit.
 */
void cstates_keep(struct cstates *states, const struct cpuid_regs *leaf5);

#endif
