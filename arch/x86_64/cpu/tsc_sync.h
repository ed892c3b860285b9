/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: do two CPUs' TSCs show the same time? Judged from a few
 * questions and answers between them. SDM vol. 3, 18.17 (TSC), 18.17.4.
 */
#ifndef ARCH_CPU_TSC_SYNC_H
#define ARCH_CPU_TSC_SYNC_H

#include <margay/types.h>

/*
 * One exchange: asked here at `asked`, answered there at `there`, the answer seen here at
 * `answered`.
 */
struct tsc_exchange {
	u64 asked;
	u64 there;
	u64 answered;
};

/*
 * By how many ticks the other TSC is ahead at least (negative: behind); 0 when
 * all exchanges together allow for no difference. A difference smaller than
 * the fastest exchange cannot be told from the time that it takes.
 */
s64 tsc_difference(const struct tsc_exchange *e, unsigned count);

/*
 * The middle of what they allow for: wrong by half the fastest exchange at most, if the difference
 * is constant.
 */
s64 tsc_middle(const struct tsc_exchange *e, unsigned count);

#endif
