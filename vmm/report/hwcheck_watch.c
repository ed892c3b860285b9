/* SPDX-License-Identifier: GPL-2.0-only */
/* See hwcheck_watch.h. */
#include "vmm/report/hwcheck_watch.h"

#include <margay/host.h>

#define MSR_SMI_COUNT 0x34

struct hwcheck_watch hwcheck_watch(unsigned seconds)
{
	u64 khz = host_tsc_khz(), limit = khz * HWCHECK_GAP_NS / 1000000;
	u64 first, last, before = 0, after = 0, longest = 0, lost = 0;
	struct hwcheck_watch w = { .counts_smis = !host_rdmsr(MSR_SMI_COUNT, &before) };

	first = last = host_tsc();
	while (last - first < seconds * khz * 1000) {
		u64 now = host_tsc(), gap = now - last;

		last = now;
		longest = MAX(longest, gap);
		if (gap > limit) {
			w.gaps++;
			lost += gap;
		}
	}
	if (!host_rdmsr(MSR_SMI_COUNT, &after))
		w.smis = (u32)(after - before);
	w.lost_us = lost * 1000 / khz;
	w.longest_us = longest * 1000 / khz;
	return w;
}
