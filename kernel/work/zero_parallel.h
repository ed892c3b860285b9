/* SPDX-License-Identifier: GPL-2.0-only */
/* host_extents_zero() as work items of several CPUs, and what both ways have in common. */
#ifndef KERNEL_ZERO_PARALLEL_H
#define KERNEL_ZERO_PARALLEL_H

#include <margay/host.h>
#include <margay/mc_access.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/memory/lost.h"

void zero_parallel(const struct host_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus,
		   bool (*unowned)(unsigned cpu));

static inline void zero_memory(u64 from, u64 to)
{
	while (from < to) {
		u64 lost = host_memory_lost_in(from, to);

		/*
		 * One that turns out to be lost: all before it is zero. Where the bank names
		 * another, each page by itself.
		 */
		if (!mc_zero(phys_to_virt(from), lost - from) &&
		    IS_ENABLED(CONFIG_MACHINE_CHECKS)) {
			if (host_failed_page() - from < lost - from)
				lost = host_failed_page();
			else
				for (; from < lost; from += PAGE_SIZE)
					(void)mc_zero(phys_to_virt(from), PAGE_SIZE);
		}
		from = lost + PAGE_SIZE;
	}
}

#endif
