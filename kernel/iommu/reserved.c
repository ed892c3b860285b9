/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that firmware has reserved for functions (RMRR: VT-d 4.0, 8.4; IVMD), and which reach it:
 * iommu_keep_reserved().
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/acpi/acpi.h"
#include "kernel/iommu/iommu.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_platform.h"

#define RESERVED_MAX GIB(1) /* nobody's graphics memory is larger */

static struct host_iommu *reserved;
static const struct host_iommu_user firmware = { .name = "the firmware",
						 .mode = "the firmware's (RMRR)",
						 .node = -1 };

static const char *table_name(void)
{
	return acpi.dmar ? "DMAR" : "IVRS";
}

/* Maps an RMRR for the firmware's functions; two may overlap. */
static int reserve(u64 from, u64 to)
{
	int err = pci_platform_registers(from, to - from) ? -EPERM : 0;

	for (u64 at = from; !err && at < to; at += PAGE_SIZE) {
		err = host_iommu_map(reserved, at, hpa(at), PAGE_SIZE);
		err = err == -EEXIST ? 0 : err;
	}
	return err;
}

/*
 * Controllers that serve the firmware go on doing so: keyboards on USB, management controllers,
 * graphics.
 */
void iommu_keep_reserved(const struct dmar_info *d)
{
	const struct pci_function *f;

	for (unsigned i = 0; i < d->nr_units; i++) {
		u64 from = ALIGN_DOWN(d->unit[i].base, PAGE_SIZE),
		    to = ALIGN_UP(d->unit[i].limit + 1, PAGE_SIZE);

		if (d->unit[i].type != ACPI_DMAR_RMRR)
			continue;
		if (!reserved && host_iommu_create(&firmware, &reserved))
			return;
		if (to <= from || to - from > RESERVED_MAX ||
		    bootinfo_is_usable(bootinfo_of_boot(), from, to) || reserve(from, to))
			printk_error(
				"iommu: %s: memory reserved at %#lx-%#lx cannot be right: ignored",
				table_name(), d->unit[i].base, d->unit[i].limit);
	}
	for (unsigned i = 0; (f = pci_get(i)); i++)
		if (reserved && iommu_named(f, ACPI_DMAR_RMRR))
			(void)host_iommu_attach(reserved, i);
}
