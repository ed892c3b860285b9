/* SPDX-License-Identifier: GPL-2.0-only */
/* Zeroing guest memory: work items of the CPUs of its own node, in parallel. */
#ifndef KERNEL_ZERO_PARALLEL_H
#define KERNEL_ZERO_PARALLEL_H

#include "kernel/memory/pmem.h"

#define ZERO_MAX 16 /* extents in one call */

/*
 * Zeroes extents, each by those of the CPUs that are on its node; where there
 * is none by those there that are unowned(), which go as soon as they are not;
 * else by all. Returns when all is done. CPUs that have work are passed over;
 * the calling CPU helps if it is one of cpu[], and does what is left.
 * unowned(): on any CPU.
 */
void zero_extents(const struct pmem_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus,
		  bool (*unowned)(unsigned cpu));

#endif
