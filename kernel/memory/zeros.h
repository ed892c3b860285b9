/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Free memory that holds nothing but zeros, so that nobody need write them again; not all that does
 * need be known. Guarded by pmem.c's lock.
 */
#ifndef KERNEL_ZEROS_H
#define KERNEL_ZEROS_H

#include <margay/host.h>

#if IS_ENABLED(CONFIG_PARALLEL_ZERO)
/* What is taken out is zero no longer. True: all of it was. */
bool zeros_forget(u64 start, u64 end);

/* It is free from now on: by its word it is zero, or may not be. */
void zeros_add(const struct host_extent *e);
#else
static inline bool zeros_forget(u64, u64)
{
	return false;
}

static inline void zeros_add(const struct host_extent *) { }
#endif

#endif
