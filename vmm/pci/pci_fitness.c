/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see pci_fitness.h. Class codes: PCI Code and ID Assignment 1.11. */
#include "vmm/pci/pci_fitness.h"

#include <margay/string.h>

/* A BAR that firmware left without an address: of ports, or of memory. */
static bool lacks_address(const struct pci_info *f, bool ports)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (pci_bar_lacks_address(&f->bar[i]) && pci_bar_is_io(&f->bar[i]) == ports)
			return true;
	return false;
}

static bool shares_page(const struct pci_info *f)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (!pci_bar_is_io(&f->bar[i]) && f->bar[i].size && f->bar[i].size < PAGE_SIZE)
			return true;
	return false;
}

/* Second-level tables have four levels. */
static bool is_out_of_reach(const struct pci_info *f)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (pci_bar_is_memory(&f->bar[i]) && f->bar[i].base + f->bar[i].size > BIT(48))
			return true;
	return false;
}

/* Each ends a sentence about the function. */
struct reason {
	bool holds;
	const char *text;
};

/* The first that holds is told. */
const char *pci_unfit(const struct pci_info *f)
{
	const u32 base = f->id.class_code >> 16;
	const struct reason refusals[] = {
		{ f->header_type != PCI_HEADER_FUNCTION || base == PCI_BASE_CLASS_BRIDGE,
		  "a bridge stays the node's" },
		{ base == PCI_BASE_CLASS_SYSTEM, "a system device stays the node's" },
		/*
		 * A channel in compatibility mode has fixed ports and IRQ 14 or 15 (PCI IDE
		 * Controller 1.0, 2).
		 */
		{ f->id.class_code >> 8 == PCI_CLASS_IDE && (f->id.class_code & 5) != 5,
		  "IDE with legacy ports and IRQ 14, 15: switch the controller to AHCI or native mode in the setup" },
		{ f->address.segment, "guests have PCI segment 0 only" },
		{ f->vfs_on, "its virtual functions are on: switch SR-IOV off in the setup" },
		/* Ports without an address are usual, and drivers of today do without them. */
		{ lacks_address(f, false),
		  "the firmware gave one of its BARs no address: allow addresses above 4G in the setup" },
		{ is_out_of_reach(f),
		  "a BAR lies above 2^48: lower the base of MMIO in the setup" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].holds)
			return refusals[i].text;
	return f->problem;
}

/* All restrictions that hold are told. */
enum pci_fitness pci_fitness(const struct pci_info *f, char why[PCI_FITNESS_TEXT])
{
	const struct reason restrictions[] = {
		{ !f->flr && !f->pm_reset && f->bus_reset,
		  "reset by the bus, on which it is alone" },
		{ !f->flr && !f->pm_reset && !f->bus_reset,
		  "no reset of its own: the next VM finds it as the last one left it" },
		{ !f->msi && !f->msix && f->pin, "line interrupt only" },
		{ !f->msi && !f->msix && !f->pin, "no interrupt" },
		{ lacks_address(f, true),
		  "without those of its ports to which the firmware gave no address" },
		{ f->cut_off, "extended capabilities out of reach: no ECAM" },
		{ !f->pcie && f->address.bus,
		  "conventional PCI: for an IOMMU one with all behind its bridge" },
		{ f->id.class_code >> 8 == PCI_CLASS_VGA, "without the legacy VGA addresses" },
		{ shares_page(f), "a BAR below a page is trapped: slow" },
	};
	const char *refusal = pci_unfit(f);
	size_t n = 0;

	why[0] = 0;
	if (refusal) {
		snprintf(why, PCI_FITNESS_TEXT, "%s", refusal);
		return PCI_UNFIT;
	}
	for (size_t i = 0; i < ARRAY_SIZE(restrictions); i++)
		if (restrictions[i].holds && n < PCI_FITNESS_TEXT)
			n += (size_t)snprintf(why + n, PCI_FITNESS_TEXT - n, "%s%s", n ? "; " : "",
					      restrictions[i].text);
	return n ? PCI_FIT_BUT : PCI_FIT;
}
