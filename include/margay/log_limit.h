/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of the log that a guest, or a device of one, can cause as often as it likes: some at once,
 * then one in ten seconds; what is left out is counted, and said with the next line.
 */
#ifndef MARGAY_LOG_LIMIT_H
#define MARGAY_LOG_LIMIT_H

#include <margay/types.h>

#define LOG_LIMIT_BURST 16u
#define LOG_LIMIT_MS 10000u

/* Of one source: a VM, or one kind of line of the node's. Zero at first, but for the burst. */
struct log_limit {
	u32 burst;  /* lines at once; 0: LOG_LIMIT_BURST */
	u32 unsaid; /* lines since the last one that was said; atomic */
	u64 free;   /* TSC by which all that was said is paid for; atomic */
};

/*
 * May it say a line now? *unsaid: how many it could not say since the last one. From any CPU, with
 * whatever lock, and in an NMI.
 */
static inline bool log_limit_take(struct log_limit *l, u64 now, u64 tsc_khz, u32 *unsaid)
{
	u64 price = LOG_LIMIT_MS * tsc_khz, free = __atomic_load_n(&l->free, __ATOMIC_RELAXED),
	    from;
	u32 burst = l->burst ? l->burst : LOG_LIMIT_BURST;

	do {
		from = MAX(free, now);
		if (from - now > (burst - 1) * price) {
			__atomic_fetch_add(&l->unsaid, 1, __ATOMIC_RELAXED);
			return false;
		}
	} while (!__atomic_compare_exchange_n(&l->free, &free, from + price, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*unsaid = __atomic_exchange_n(&l->unsaid, 0, __ATOMIC_RELAXED);
	return true;
}

#endif
