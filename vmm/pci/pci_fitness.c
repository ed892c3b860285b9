/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see pci_fitness.h. Class codes: PCI Code and ID Assignment 1.11. */
#include "vmm/pci/pci_fitness.h"

#include <margay/string.h>

static bool is_bridge(const struct pci_info *f)
{
	return f->header_type != PCI_HEADER_FUNCTION || f->id.class_code >> 16 == PCI_BASE_CLASS_BRIDGE;
}

static bool is_system(const struct pci_info *f)
{
	return f->id.class_code >> 16 == PCI_BASE_CLASS_SYSTEM;
}

/* A channel in compatibility mode has fixed ports and IRQ 14 or 15 (PCI IDE Controller 1.0, 2). */
static bool is_legacy_ide(const struct pci_info *f)
{
	return f->id.class_code >> 8 == PCI_CLASS_IDE && (f->id.class_code & 5) != 5;
}

static bool in_other_segment(const struct pci_info *f)
{
	return f->address.segment;
}

static bool has_vfs_on(const struct pci_info *f)
{
	return f->vfs_on;
}

/* Ports without an address are usual, and drivers of today do without them. */
static bool lacks_memory(const struct pci_info *f)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (pci_bar_lacks_address(&f->bar[i]) && !pci_bar_is_io(&f->bar[i]))
			return true;
	return false;
}

static bool lacks_ports(const struct pci_info *f)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (pci_bar_lacks_address(&f->bar[i]) && pci_bar_is_io(&f->bar[i]))
			return true;
	return false;
}

static bool has_line_only(const struct pci_info *f)
{
	return !f->msi && !f->msix && f->pin;
}

static bool has_no_interrupt(const struct pci_info *f)
{
	return !f->msi && !f->msix && !f->pin;
}

static bool has_no_reset(const struct pci_info *f)
{
	return !f->flr && !f->pm_reset;
}

static bool is_cut_off(const struct pci_info *f)
{
	return f->cut_off;
}

static bool is_behind_bridge(const struct pci_info *f)
{
	return !f->pcie && f->address.bus;
}

static bool is_vga(const struct pci_info *f)
{
	return f->id.class_code >> 8 == PCI_CLASS_VGA;
}

static bool shares_page(const struct pci_info *f)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (!pci_bar_is_io(&f->bar[i]) && f->bar[i].size && f->bar[i].size < PAGE_SIZE)
			return true;
	return false;
}

struct reason {
	bool (*holds)(const struct pci_info *f);
	const char *text;
};

/* Each ends a sentence about the function. The first that holds is told. */
static const struct reason refusals[] = {
	{ is_bridge, "a bridge stays the node's" },
	{ is_system, "a system device stays the node's" },
	{ is_legacy_ide, "IDE with legacy ports and IRQ 14, 15: switch the controller to AHCI or native mode in the setup" },
	{ in_other_segment, "guests have PCI segment 0 only" },
	{ has_vfs_on, "its virtual functions are on: switch SR-IOV off in the setup" },
	{ lacks_memory, "the firmware gave one of its BARs no address: allow addresses above 4G in the setup" },
};

/* All that hold are told. */
static const struct reason restrictions[] = {
	{ has_no_reset, "no reset of its own: the next VM finds it as the last one left it" },
	{ has_line_only, "line interrupt only" },
	{ has_no_interrupt, "no interrupt" },
	{ lacks_ports, "without those of its ports to which the firmware gave no address" },
	{ is_cut_off, "extended capabilities out of reach: no ECAM" },
	{ is_behind_bridge, "conventional PCI: for an IOMMU one with all behind its bridge" },
	{ is_vga, "without the legacy VGA addresses" },
	{ shares_page, "a BAR below a page is trapped: slow" },
};

const char *pci_unfit(const struct pci_info *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].holds(f))
			return refusals[i].text;
	return f->problem;
}

enum pci_fitness pci_fitness(const struct pci_info *f, char why[PCI_FITNESS_TEXT])
{
	const char *refusal = pci_unfit(f);
	size_t n = 0;

	why[0] = 0;
	if (refusal) {
		snprintf(why, PCI_FITNESS_TEXT, "%s", refusal);
		return PCI_UNFIT;
	}
	for (size_t i = 0; i < ARRAY_SIZE(restrictions); i++)
		if (restrictions[i].holds(f) && n < PCI_FITNESS_TEXT)
			n += (size_t)snprintf(why + n, PCI_FITNESS_TEXT - n, "%s%s", n ? "; " : "", restrictions[i].text);
	return n ? PCI_FIT_BUT : PCI_FIT;
}
