/* SPDX-License-Identifier: GPL-2.0-only */
/* How often a VM may restart by itself: `restart_limit` of its VM file, and without it. */
#ifndef VMM_RESTART_LIMIT_H
#define VMM_RESTART_LIMIT_H

#include "vmm/config/config.h"
#include "vmm/vm_end.h"

/* Of one VM: zeroed at first, and where the count is to begin anew. Guarded by monitor_lock. */
struct restarts {
	u64 since; /* host TSC of the first that counts */
	u64 paid;  /* host TSC at which those that vm_restart_at() has counted are all paid for */
	u32 count;
};

#if IS_ENABLED(CONFIG_VM_FOLLOW_UP)
/* May the VM restart once more? Counts it; where the limit is reached, says so in the log. */
bool vm_may_restart(struct restarts *r, const struct vm_config *c);

/* Is that to be asked of a restart that follows this end? */
static inline bool vm_restart_counts(enum vm_end end)
{
	return end != VM_END_ANEW;
}
#else
static inline bool vm_may_restart(struct restarts *, const struct vm_config *)
{
	return true;
}

static inline bool vm_restart_counts(enum vm_end)
{
	return false;
}
#endif

/*
 * When it may start by itself, host TSC; counts that. RESTART_BURST times at once, then once in
 * RESTART_SECONDS: a guest that ends again and again, or another whose functions it waits for,
 * would fill the log, and have CPUs zero its memory all the time.
 */
#define RESTART_BURST 16u
#define RESTART_SECONDS 10u
u64 vm_restart_at(struct restarts *r, u64 now);

#endif
