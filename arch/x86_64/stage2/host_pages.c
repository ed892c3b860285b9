/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables in the hypervisor's own memory: stage2_host_pages in stage2.h. */
#include <margay/host.h>
#include "arch/x86_64/stage2/stage2.h"

static void *alloc(int node)
{
	return host_pages_alloc(1, node);
}

static void free_page(void *page)
{
	host_pages_free(page, 1);
}

static u64 to_hpa(const void *page)
{
	return host_virt_to_hpa(page).v;
}

static void *to_virt(u64 pa)
{
	return host_hpa_to_virt(hpa(pa));
}

const struct stage2_mem stage2_host_pages = { alloc, free_page, to_hpa, to_virt };
