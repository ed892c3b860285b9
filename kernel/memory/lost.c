/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages that the machine has lost: lost.h. */
#include "kernel/memory/lost.h"

#include <margay/host.h>

#include "kernel/console/printk.h"

#define LOST_MAX 64

static u64 lost[LOST_MAX]; /* page + 1, never taken back; 0: free. Atomic */

void memory_lost(u64 page)
{
	for (unsigned i = 0; i < LOST_MAX; i++) {
		u64 none = 0;

		if (__atomic_compare_exchange_n(&lost[i], &none, page + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			printk_error("memory: the page at %#lx is given to nobody any more", page);
		if (!none || none == page + 1)
			return;
	}
	printk_error("memory: the page at %#lx is one too many to be kept out of use: restart the node", page);
}

u64 host_memory_lost_in(u64 from, u64 to)
{
	u64 first = to;

	for (unsigned i = 0; i < LOST_MAX; i++) {
		u64 page = __atomic_load_n(&lost[i], __ATOMIC_ACQUIRE) - 1;

		if (page == ~0ull)
			break;
		if (page >= from && page < first)
			first = page;
	}
	return first;
}
