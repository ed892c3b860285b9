/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the difference between two TSCs. */
#include "arch/x86_64/cpu/tsc_sync.h"

/*
 * The answer was given between question and its arrival: each exchange bounds the difference from
 * both sides.
 */
static void bounds(const struct tsc_exchange *e, unsigned count, s64 *least, s64 *most)
{
	*least = INT64_MIN;
	*most = INT64_MAX;
	for (unsigned i = 0; i < count; i++) {
		*least = MAX(*least, (s64)(e[i].there - e[i].answered));
		*most = MIN(*most, (s64)(e[i].there - e[i].asked));
	}
}

s64 tsc_difference(const struct tsc_exchange *e, unsigned count)
{
	s64 least, most;

	bounds(e, count, &least, &most);
	if (least > 0)
		return least;
	return most < 0 ? most : 0;
}

s64 tsc_middle(const struct tsc_exchange *e, unsigned count)
{
	s64 least, most;

	bounds(e, count, &least, &most);
	return least + (s64)((u64)most - (u64)least) / 2;
}
