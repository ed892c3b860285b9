/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of the guest's DSDT about its PCI functions: root buses with their windows and interrupt
 * routing, and the ECAM.
 */
#include <margay/pci_regs.h>

#include "vmm/acpi/acpi_build.h"
#include "vmm/acpi/aml_build.h"

/* Where line interrupts go (ACPI 6.4, 6.2.13): to the I/O APIC, level, active low. */
static void put_prt(struct aml *a, const struct acpi_guest *in, u8 bus)
{
	unsigned count = 0;

	for (unsigned i = 0; i < in->nr_intx; i++)
		count += in->intx[i].bus == bus;
	aml_packages_begin(a, "_PRT", count);
	for (unsigned i = 0; i < in->nr_intx; i++) {
		const u64 entry[] = { (u64)in->intx[i].device << 16 | 0xffff, in->intx[i].pin, 0,
				      in->intx[i].gsi };

		if (in->intx[i].bus == bus)
			aml_package(a, entry, ARRAY_SIZE(entry));
	}
	aml_end(a);
}

/*
 * One root bus (PCI Firmware 3.2, 4.5.1). _OSC grants what is asked for: there
 * is no port and no bridge with which it could be used.
 */
static void put_root(struct aml *a, const struct acpi_guest *in, const struct acpi_guest_root *root)
{
	static const char digit[] = "0123456789ABCDEF";
	u8 bus = root->bus;
	const char name[] = { 'P', 'C', digit[bus >> 4], digit[bus & 15], 0 };

	aml_device(a, name);
	aml_name_eisaid(a, "_HID", "PNP0A08");
	aml_name_eisaid(a, "_CID", "PNP0A03");
	aml_name_integer(a, "_UID", bus);
	aml_name_integer(a, "_SEG", 0);
	aml_name_integer(a, "_BBN", bus);
	if (root->node >= 0)
		aml_name_integer(a, "_PXM", (u64)root->node);
	aml_method_return_arg(a, "_OSC", 4, 3);
	aml_crs_begin(a, "_CRS");
	aml_range(a, AML_RANGE_BUS, true, bus, root->last_bus - bus + 1u, 0);
	for (unsigned i = 0; i < in->nr_windows; i++)
		if (in->windows[i].bus == bus)
			aml_range(a, in->windows[i].io ? AML_RANGE_IO : AML_RANGE_MEMORY, true,
				  in->windows[i].base, in->windows[i].size, 0);
	aml_crs_end(a);
	if (in->nr_dma && !root->virtual) {
		aml_crs_begin(a, "_DMA");
		for (unsigned i = 0; i < in->nr_dma; i++)
			aml_range(a, AML_RANGE_MEMORY, true, in->dma[i].hpa, in->dma[i].length,
				  in->dma[i].gpa - in->dma[i].hpa);
		aml_crs_end(a);
	}
	put_prt(a, in, bus);
	aml_end(a);
}

/* Linux uses no ECAM that no device claims. */
static void put_ecam(struct aml *a, const struct acpi_guest *in)
{
	aml_device(a, "ECAM");
	aml_name_eisaid(a, "_HID", "PNP0C02");
	aml_name_integer(a, "_UID", 0);
	aml_crs_begin(a, "_CRS");
	aml_range(a, AML_RANGE_MEMORY, false, in->ecam_base,
		  (in->ecam_last_bus + 1) * PCI_ECAM_BUS_SIZE, 0);
	aml_crs_end(a);
	aml_end(a);
}

void acpi_put_pci(struct aml *a, const struct acpi_guest *in)
{
	aml_scope(a, "\\_SB");
	for (unsigned i = 0; i < in->nr_roots; i++)
		put_root(a, in, &in->roots[i]);
	if (in->ecam)
		put_ecam(a, in);
	acpi_put_sriov(a, in);
	aml_end(a);
}
