/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages that the machine has lost: lost.h. */
#include "kernel/memory/lost.h"

#include <margay/host.h>

#include "kernel/log/printk.h"

/* page + 1, never taken back, in the order of their loss; 0: free. Atomic */
static u64 lost[HOST_LOST_MAX];
static void (*listener)(void);
static bool full;              /* and that was said; atomic */
static u32 told;               /* how many of these it has been told of; atomic */

void memory_lost(u64 page)
{
	for (unsigned i = 0; i < HOST_LOST_MAX; i++) {
		u64 none = 0;

		if (__atomic_compare_exchange_n(&lost[i], &none, page + 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			printk_error("memory: the page at %#lx is given to nobody any more", page);
		if (!none || none == page + 1)
			return;
	}
	if (!__atomic_exchange_n(&full, true, __ATOMIC_ACQ_REL))
		printk_error(
			"memory: the page at %#lx, and each from now on, is one too many to be kept out of use: restart "
			"the node",
			page);
}

bool memory_lost_told(u64 page)
{
	return __atomic_load_n(&full, __ATOMIC_ACQUIRE) ||
	       host_memory_lost_in(page, page + PAGE_SIZE) == page;
}

bool host_memory_lost(unsigned i, u64 *page)
{
	*page = i < HOST_LOST_MAX ? __atomic_load_n(&lost[i], __ATOMIC_ACQUIRE) - 1 : ~0ull;
	return *page != ~0ull;
}

u64 host_memory_lost_in(u64 from, u64 to)
{
	u64 first = to, page;

	for (unsigned i = 0; host_memory_lost(i, &page); i++)
		if (page >= from && page < first)
			first = page;
	return first;
}

void host_on_memory_lost(void (*fn)(void))
{
	listener = fn;
}

void memory_lost_tell(void)
{
	u32 n = __atomic_load_n(&told, __ATOMIC_ACQUIRE);
	u64 page;

	/* One CPU does it; what is lost meanwhile is seen at its next look. */
	if (likely(!host_memory_lost(n, &page)) || !listener ||
	    !__atomic_compare_exchange_n(&told, &n, n + 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	listener();
}
