/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long and how often this CPU is held up by what runs below Margay: firmware by SMIs, or
 * another hypervisor.
 */
#ifndef VMM_HWCHECK_WATCH_H
#define VMM_HWCHECK_WATCH_H

#include <margay/types.h>

/* A loop that reads the TSC is not held up so long by anything of its own. */
#define HWCHECK_GAP_NS 10000u

struct hwcheck_watch {
	unsigned gaps; /* longer than HWCHECK_GAP_NS */
	u64 lost_us; /* in all of them */
	u64 longest_us;
	/* the CPU does: MSR_SMI_COUNT, SDM vol. 4, table 2-2; Nehalem and later */
	bool counts_smis;
	u32 smis;
};

/*
 * Watches for so many seconds, and is held up by nothing of Margay's own: interrupts are off, or
 * nobody sends any.
 */
struct hwcheck_watch hwcheck_watch(unsigned seconds);

#endif
