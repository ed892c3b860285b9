/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of caches and of memory bandwidth that VMs have to themselves, and what they use. Part of
 * the door, <margay/host.h>.
 */
#ifndef MARGAY_HOST_RDT_H
#define MARGAY_HOST_RDT_H

#include <margay/types.h>

struct host_rdt_wish {
	/*
	 * so many ways of a cache that has that many: L3, or L2 where that is the last one; 0: as
	 * everybody
	 */
	unsigned ways;
	unsigned of;
	unsigned bandwidth; /* percent of the memory bandwidth; 0: as everybody */
	unsigned gigabytes; /* GB/s, where it is divided by these */
};

#define HOST_RDT_TEXT 80

/*
 * Sets that part aside in all caches of these CPUs, for `owner`. False, and why in *text,
 * HOST_RDT_TEXT bytes: the CPUs cannot, or others have it. Nothing is done to CPUs yet. Any CPU.
 */
#if IS_ENABLED(CONFIG_VM_RDT)
bool host_rdt_take(const void *owner, const struct host_rdt_wish *wish, const u16 *cpu,
		   unsigned nr_cpus, char *text);
#else
/* No VM file wishes any. */
static inline bool host_rdt_take(const void *, const struct host_rdt_wish *, const u16 *, unsigned,
				 char *)
{
	return true;
}
#endif

/*
 * The calling CPU, one of these, works for the owner from now on; until host_rdt_leave(), once
 * each. Its use is counted if there is a number left for the owner. Do nothing without that and a
 * share.
 */
void host_rdt_enter(const void *owner);
void host_rdt_leave(const void *owner);

#if IS_ENABLED(CONFIG_VM_RDT)
/*
 * What no CPU of the owner's has left, since none has entered, is anybody's again. So is the number
 * by which it was counted.
 */
void host_rdt_free(const void *owner);
#else
static inline void host_rdt_free(const void *) { }
#endif

/* Which of the node's caches a CPU has: those with the same answer share one. */
u32 host_rdt_cache(unsigned cpu);

struct host_rdt_use {
	u64 held; /* bytes of the calling CPU's cache; HOST_RDT_UNKNOWN: not counted */
	/*
	 * between that cache and memory, and of it with this node's memory: bytes since `before`;
	 * or unknown
	 */
	u64 traffic;
	u64 local;
	u64 counts[2]; /* the counters of these, for the next call */
};
#define HOST_RDT_UNKNOWN (~0ull)

/*
 * What the owner uses by that cache. before: NULL, or what the call before has returned. False:
 * nothing of it is counted.
 */
bool host_rdt_use(const void *owner, const struct host_rdt_use *before, struct host_rdt_use *use);

#endif
