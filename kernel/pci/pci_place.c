/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the functions' BARs lie: what pci_misplaced() in pci_core.h asks. Firmware that forgets a BAR leaves it over anything. */
#include "kernel/pci/pci_core.h"
#include "kernel/boot/cmdline.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"

/* I/O APICs, HPET, TPM, IOMMUs, local APICs and MSI: no PCI function's, by the habit of all chipsets. */
#define PLATFORM_START 0xfec00000u
#define PLATFORM_END 0xfef00000u
/* The ports below are the board's (ISA). */
#define ISA_END 0x400

static const struct mcfg_info *ecam;
static const struct bootinfo *memory;

void pci_place_init(const struct mcfg_info *mcfg, const struct bootinfo *bi)
{
	ecam = mcfg;
	memory = bi;
}

static bool meets(const struct pci_bar *b, u64 start, u64 size)
{
	return b->base < start + size && start < b->base + b->size;
}

static bool over_memory(const struct pci_bar *b)
{
	for (unsigned i = 0; i < memory->nr_ranges; i++) {
		const struct boot_range *r = &memory->range[i];

		/* What is just reserved may be the window in which the BARs are. */
		if (r->type != BOOT_MEMORY_RESERVED && meets(b, r->start, r->end - r->start))
			return true;
	}
	return false;
}

static bool over_platform(const struct pci_bar *b)
{
	if (pci_bar_is_io(b))
		return b->base < ISA_END || meets(b, PCI_CONFIG_ADDRESS, 8) || b->base + b->size > 0x10000;
	for (unsigned i = 0; ecam && i < ecam->count; i++)
		if (meets(b, ecam->entry[i].base + ecam->entry[i].bus_start * PCI_ECAM_BUS_SIZE,
			  (ecam->entry[i].bus_end - ecam->entry[i].bus_start + 1) * PCI_ECAM_BUS_SIZE))
			return true;
	return meets(b, PLATFORM_START, PLATFORM_END - PLATFORM_START);
}

static bool is_console(const struct pci_bar *b)
{
	const struct cmdline *c = cmdline_of_boot();

	return c->console == (pci_bar_is_io(b) ? CMDLINE_CONSOLE_PORT : CMDLINE_CONSOLE_MMIO) &&
	       meets(b, c->console_address, 8);
}

/* Another function's BAR, or another one of its own. */
static bool overlaps(const struct pci_function *f, unsigned i)
{
	const struct pci_function *g;

	for (unsigned n = 0; (g = pci_get(n)); n++) {
		for (unsigned k = 0; k < PCI_BARS; k++) {
			const struct pci_bar *b = &g->bar[k];

			if ((g != f || i != k) && b->base && pci_bar_is_io(b) == pci_bar_is_io(&f->bar[i]) &&
			    meets(&f->bar[i], b->base, b->size))
				return true;
		}
	}
	return false;
}

const char *pci_misplaced(const struct pci_function *f)
{
	for (unsigned i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *b = &f->bar[i];

		if (!b->base || !b->size)
			continue;
		if (b->base + b->size - 1 < b->base)
			return "one of its BARs ends beyond the address space";
		if (is_console(b))
			return "it is the hypervisor's console";
		if (!pci_bar_is_io(b) && over_memory(b))
			return "one of its BARs lies over memory";
		if (over_platform(b))
			return "one of its BARs lies over registers of the platform";
		if (overlaps(f, i))
			return "one of its BARs overlaps another";
		/* Firmware that has read a ROM may leave any address there. */
		if (IS_ENABLED(CONFIG_PASSTHROUGH) && i != PCI_ROM_BAR && !pci_in_window(f, pci_bar_is_io(b), b->base, b->size))
			return "one of its BARs lies in no window of its root bus";
	}
	return NULL;
}
