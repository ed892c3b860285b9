/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the firmware's tables names the units that are used, and which backend drives these. */
#include "kernel/acpi/acpi.h"
#include "kernel/iommu/iommu.h"
#include "kernel/log/printk.h"

extern const struct iommu_ops *const __start_iommu_backends[], *const __stop_iommu_backends[];

const struct dmar_info *iommu_find_table(void)
{
	static struct dmar_info ivrs;
	const char *why;

	if (acpi.dmar || !acpi.ivrs)
		return acpi.dmar;
	why = ivrs_units(acpi.ivrs, (const u8 *)acpi_table("IVRS", 0), &ivrs);
	if (!why)
		return &ivrs;
	printk("iommu: AMD-Vi is not used%s%s: DMA is not contained", *why ? ": IVRS: " : "", why);
	return NULL;
}

const struct iommu_ops *iommu_find_backend(const struct dmar_info *table)
{
	for (const struct iommu_ops *const *ops = __start_iommu_backends;
	     ops < __stop_iommu_backends; ops++)
		if ((*ops)->ivrs == (table != acpi.dmar))
			return *ops;
	return NULL;
}
