/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a device is given for a guest's addresses: by the VM's DMA windows (include/margay/abi.h),
 * if any, else the same.
 */
#ifndef TINY_BUS_H
#define TINY_BUS_H

#include "margay.h"
#include "tiny.h"

static struct margay_info *bus_info;

/* Asks for the windows; whether there are any. Before all else here. */
static inline bool bus_windows(void)
{
	bus_info = page_alloc();
	check(hypercall(MARGAY_HC_INFO, (u64)bus_info, MARGAY_ABI_VERSION) == 0, "no table");
	return bus_info->windows != 0;
}

static inline void bus_confirm(u32 bdf, bool on)
{
	check(hypercall(MARGAY_HC_DMA_CONFIRM, bdf, on) == 0, "confirm %d", on);
}

/* What a guest whose driver goes by this says before the function is a bus master, in any mode. */
static inline void bus_init(u32 bdf)
{
	if (bus_windows())
		bus_confirm(bdf, true);
}

static inline u64 bus_address(u64 gpa)
{
	for (unsigned i = 0; i < bus_info->windows; i++)
		if (gpa - bus_info->window[i].gpa < bus_info->window[i].length)
			return bus_info->window[i].hpa + gpa - bus_info->window[i].gpa;
	check(!bus_info->windows, "no window for %#lx", gpa);
	return gpa;
}

#endif
