/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the VM file that the hardware check proposes for the whole node. */
#ifndef VMM_HWCHECK_PROPOSAL_H
#define VMM_HWCHECK_PROPOSAL_H

#include <margay/types.h>

struct vm_config;

#define PROPOSAL_MAX 3072

/*
 * Writes it: one VM with all CPUs that are online and all memory. Kernel, initrd
 * and command line are those of *model; NULL: names to be replaced. nodes: NUMA
 * nodes of the machine. Returns its length.
 */
size_t proposal_write(char text[PROPOSAL_MAX], const struct vm_config *model, unsigned nodes);

#endif
