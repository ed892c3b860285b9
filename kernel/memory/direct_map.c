/* SPDX-License-Identifier: GPL-2.0-only */
/* The direct map, an inline of the CPU layer's, by the names that <margay/host.h> has for it. */
#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"

hpa_t host_virt_to_hpa(const void *va)
{
	return hpa(virt_to_phys(va));
}

void *host_hpa_to_virt(hpa_t pa)
{
	return phys_to_virt(pa.v);
}
