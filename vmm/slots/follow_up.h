/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: what follows when a VM ends, by how it ended and what its VM file says. */
#ifndef VMM_FOLLOW_UP_H
#define VMM_FOLLOW_UP_H

#include "vmm/config/config.h"
#include "vmm/vm_end.h"

/*
 * Did the guest end by its own will, or by the operator's? What did not is counted in the node's
 * last line.
 */
bool vm_ended_well(enum vm_end end, u32 status);

/*
 * What the VM file says of this end; THEN_STOP where the operator stopped it. status: of
 * VM_END_EXIT, 0 is a power-off.
 */
enum vm_then vm_follow_up(const struct vm_config *c, enum vm_end end, u32 status);

/* Is there an end that a restart follows? */
bool vm_ever_restarts(const struct vm_config *c);

#endif
