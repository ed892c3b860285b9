/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only in images with DEBUG_CLOCK: the reference clock's own time, which nothing of the TSC goes
 * into.
 */
#include <margay/host.h>
#include "drivers/hpet.h"

#define FS_PER_NS 1000000

u64 host_reference_ns(void)
{
	u64 ticks = hpet_present() ? hpet_read() : 0;

	/* ticks * period does not fit after 5 hours */
	return ticks / FS_PER_NS * hpet_period_fs() +
	       ticks % FS_PER_NS * hpet_period_fs() / FS_PER_NS;
}
