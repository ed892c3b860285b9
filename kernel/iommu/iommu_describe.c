/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's IOMMUs, for the hardware check, beside what else the firmware described. VT-d 4.0,
 * 11.4.2 (capability registers); AMD I/O Virtualization, 3.4.3 (extended features). Registers are
 * only read.
 */
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/iommu/release.h"
#include "kernel/pci/pci_core.h"

#define VTD_ECAP 0x10
#define VTD_ECAP_IR BIT(3)
#define VTD_ECAP_EIM BIT(4)
#define AMD_FEATURES 0x30
#define AMD_FEATURES_XT BIT(2)

static void describe_vtd(const struct dmar_info *dmar, struct host_platform *out)
{
	out->iommu = "VT-d";
	out->remaps_interrupts = dmar->flags & ACPI_DMAR_INTR_REMAP;
	out->remaps_x2apic = out->remaps_interrupts && !(dmar->flags & ACPI_DMAR_X2APIC_OPT_OUT);
	for (unsigned i = 0; i < dmar->nr_units; i++) {
		volatile u8 *r;
		u64 ecap;

		if (dmar->unit[i].type != ACPI_DMAR_DRHD)
			continue;
		out->iommus++;
		r = mmio_map(dmar->unit[i].base, PAGE_SIZE);
		ecap = r ? mmio_read64(r + VTD_ECAP) : 0;
		out->remaps_interrupts = out->remaps_interrupts && ecap & VTD_ECAP_IR;
		out->remaps_x2apic = out->remaps_x2apic && ecap & VTD_ECAP_EIM;
	}
}

static void describe_amd(const struct ivrs_info *ivrs, struct host_platform *out)
{
	out->iommu = "AMD-Vi";
	out->iommus = ivrs->nr_iommus;
	out->remaps_interrupts = out->remaps_x2apic = ivrs->nr_iommus;
	for (unsigned i = 0; i < ivrs->nr_iommus; i++) {
		volatile u8 *r = mmio_map(ivrs->iommu[i].base, PAGE_SIZE);

		out->remaps_x2apic =
			out->remaps_x2apic && r && mmio_read64(r + AMD_FEATURES) & AMD_FEATURES_XT;
	}
}

void host_platform(struct host_platform *out)
{
	*out = (struct host_platform){
		.srat = acpi.srat,
		.slit = acpi.slit,
		.ecam = pci_has_ecam(),
	};
	static_assert(sizeof(out->iommu_left) == IOMMU_LEFT_TEXT, "as iommu_released() writes it");
	out->iommu_stuck = !iommu_released(out->iommu_left);
	if (acpi.dmar)
		describe_vtd(acpi.dmar, out);
	else if (acpi.ivrs)
		describe_amd(acpi.ivrs, out);
}
