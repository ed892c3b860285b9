/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the difference between two TSCs. */
#include "arch/x86_64/cpu/tsc_sync.h"

s64 tsc_difference(const struct tsc_exchange *e, unsigned count)
{
	s64 least = INT64_MIN, most = INT64_MAX;

	/* The answer was given between question and its arrival: each exchange bounds the difference from both sides. */
	for (unsigned i = 0; i < count; i++) {
		s64 low = (s64)(e[i].there - e[i].answered), high = (s64)(e[i].there - e[i].asked);

		least = MAX(least, low);
		most = MIN(most, high);
	}
	if (least > 0)
		return least;
	return most < 0 ? most : 0;
}
