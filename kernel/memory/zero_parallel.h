/* SPDX-License-Identifier: GPL-2.0-only */
/* host_extents_zero() as work items of several CPUs. */
#ifndef KERNEL_ZERO_PARALLEL_H
#define KERNEL_ZERO_PARALLEL_H

#include <margay/host.h>

void zero_parallel(const struct host_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus,
		   bool (*unowned)(unsigned cpu));

#endif
