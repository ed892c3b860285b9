/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Part of host.h: pages of memory that the machine has lost. In images without MACHINE_CHECKS
 * nobody knows of any.
 */
#ifndef MARGAY_HOST_LOST_H
#define MARGAY_HOST_LOST_H

#include <margay/types.h>

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/* The first page in [from, to) that the machine has lost, or `to`. from: page aligned. */
u64 host_memory_lost_in(u64 from, u64 to);
#else
static inline u64 host_memory_lost_in(u64, u64 to)
{
	return to;
}
#endif
/*
 * The i-th of these since boot, in the order of their loss: true and *page, or there are not as
 * many.
 */
#define HOST_LOST_MAX 64u
bool host_memory_lost(unsigned i, u64 *page);
/* From now on fn() is called for each of them, on any CPU, in interrupt windows, no lock held. */
void host_on_memory_lost(void (*fn)(void));
/* The lost page that the calling CPU's last access of mc_access.h which failed has met. */
u64 host_failed_page(void);

#endif
