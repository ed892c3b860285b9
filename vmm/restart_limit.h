/* SPDX-License-Identifier: GPL-2.0-only */
/* How often a VM may restart by itself: `restart_limit` of its VM file. */
#ifndef VMM_RESTART_LIMIT_H
#define VMM_RESTART_LIMIT_H

#include "vmm/config/config.h"

/* Of one VM: zeroed at first, and where the count is to begin anew. Guarded by monitor_lock. */
struct restarts {
	u64 since; /* host TSC of the first that counts */
	u32 count;
};

/* May the VM restart once more? Counts it; where the limit is reached, says so in the log. */
bool vm_may_restart(struct restarts *r, const struct vm_config *c);

#endif
