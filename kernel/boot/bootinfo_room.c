/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: how large a module the boot loader had room for. */
#include "kernel/boot/bootinfo.h"

u64 bootinfo_module_room(const struct bootinfo *bi)
{
	u64 most = 0;

	for (unsigned i = 0; i < bi->nr_ranges; i++) {
		const struct boot_range *r = &bi->range[i];

		if (r->type == BOOT_MEMORY_USABLE && r->start < GIB(4))
			most = MAX(most, MIN(r->end, GIB(4)) - r->start);
	}
	return most;
}
