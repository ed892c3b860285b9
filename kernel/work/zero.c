/* SPDX-License-Identifier: GPL-2.0-only */
/* Zeroing guest memory: by the CPUs of its own node, or by the one that asks. */
#include <margay/host.h>
#include "kernel/work/zero_parallel.h"

void host_extents_zero(const struct host_extent *e, unsigned count, const u16 *cpu,
		       unsigned nr_cpus, bool (*unowned)(unsigned cpu))
{
	if (IS_ENABLED(CONFIG_PARALLEL_ZERO)) {
		zero_parallel(e, count, cpu, nr_cpus, unowned);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		for (u64 at = 0; at < e[i].size; at += PAGE_SIZE_2M) {
			zero_memory(e[i].base.v + at,
				    e[i].base.v + MIN(at + PAGE_SIZE_2M, e[i].size));
			host_interrupt_window();
		}
	}
}
