/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor's own pages, and which VM's they are: what a CPU takes and gives goes into a count of
 * the VM's.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/log/printk.h"
#include "kernel/memory/pmem.h"
#include "kernel/percpu.h"

static PERCPU u64 *counted_into; /* what the CPU takes and gives; NULL: nothing */

static void account(s64 pages)
{
	u64 *bytes = cpu_own(this_cpu(), counted_into);

	if (bytes)
		__atomic_add_fetch(bytes, (u64)pages * PAGE_SIZE, __ATOMIC_RELAXED);
}

void *host_pages_alloc(unsigned count, int node)
{
	void *pages = pmem_pages_alloc(count, node);

	if (pages)
		account(count);
	return pages;
}

void host_pages_free(void *pages, unsigned count)
{
	pmem_pages_free(pages, count);
	if (pages)
		account(-(s64)count);
}

void host_account(u64 *bytes)
{
	cpu_own(this_cpu(), counted_into) = bytes;
}

int host_no_memory(const char *who)
{
	printk_error("%s: no memory left for the hypervisor itself", who);
	return -ENOMEM;
}
