/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the functions' BARs lie: what pci_misplaced() in pci_core.h asks, and which ROMs have an
 * address. Firmware that forgets a BAR leaves it over anything, and a ROM often as it was sized:
 * all ones, switched off (PCI Local Bus 3.0, 6.2.5.2).
 */
#include <margay/string.h>
#include "kernel/pci/pci_core.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_platform.h"
#include "kernel/pci/pci_route.h"

static bool meets(const struct pci_bar *b, u64 start, u64 size)
{
	return b->base < start + size && start < b->base + b->size;
}

/*
 * The window of a bridge in registers of which each holds the high bits of an address: from low's
 * to high's.
 */
static bool passes(u64 from, u64 to, u64 first, u64 last)
{
	return from <= first && last <= to;
}

/* Ports (PCI-to-PCI Bridge 1.2, 3.2.5.6): 4 KiB, of 16 or 32 bits. */
static bool bridge_passes_ports(const struct pci_function *b, u64 first, u64 last)
{
	u32 io = pci_read(b->address, PCI_REG_BRIDGE_IO, 2),
	    high = pci_read(b->address, PCI_REG_BRIDGE_IO_HIGH, 4);
	u64 from = (io & 0xf0) << 8, to = (io & 0xf000) | 0xfff;

	if (io & 1) {
		from |= (u64)(high & 0xffff) << 16;
		to |= (u64)(high >> 16) << 16;
	}
	return passes(from, to, first, last);
}

/* Memory, and what may be fetched ahead (3.2.5.8, 3.2.5.9): 1 MiB. */
static bool bridge_passes_memory(const struct pci_function *b, u64 first, u64 last)
{
	u32 memory = pci_read(b->address, PCI_REG_BRIDGE_MEMORY, 4),
	    fetch = pci_read(b->address, PCI_REG_BRIDGE_FETCH, 4);
	u64 from = (u64)(fetch & 0xfff0) << 16, to = (fetch & 0xfff00000) | 0xfffff;

	if (fetch & 1) {
		from |= (u64)pci_read(b->address, PCI_REG_BRIDGE_FETCH + 4, 4) << 32;
		to |= (u64)pci_read(b->address, PCI_REG_BRIDGE_FETCH + 8, 4) << 32;
	}
	return passes(from, to, first, last) ||
	       passes((u64)(memory & 0xfff0) << 16, (memory & 0xfff00000) | 0xfffff, first, last);
}

bool pci_bridges_pass(const struct pci_function *f, bool io, u64 first, u64 last)
{
	for (f = pci_bridge_of(f); f; f = pci_bridge_of(f)) {
		bool passed = io ? bridge_passes_ports(f, first, last)
				 : bridge_passes_memory(f, first, last);

		if (!passed)
			return false;
	}
	return true;
}

/*
 * Why it is not the function's own: NULL: it is. Where nobody says which addresses its root bus
 * has, the bridges above pass it on, or firmware has switched it on, and so meant it. A ROM is
 * often neither.
 */
static const char *away(const struct pci_function *f, unsigned i)
{
	const struct pci_bar *b = &f->bar[i];
	bool io = pci_bar_is_io(b), meant;
	enum pci_window window = pci_window(f, io, b->base, b->size);

	if (window == PCI_WINDOW_OUT)
		return "one of its BARs lies in no window of its root bus";
	if (window == PCI_WINDOW_IN)
		return NULL;
	if (pci_bridge_of(f))
		meant = pci_bridges_pass(f, io, b->base, b->base + b->size - 1);
	else
		meant = f->command & (io ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY);
	return meant && i != PCI_ROM_BAR
		       ? NULL
		       : "nothing says that one of its BARs lies where its root bus is: facts (margay-facts)";
}

/* All but other BARs. */
static const char *wrong(const struct pci_function *f, unsigned i)
{
	const struct pci_bar *b = &f->bar[i];
	const char *what;

	if (b->base + b->size - 1 < b->base)
		return "one of its BARs ends beyond the address space";
	what = pci_platform_at(pci_bar_is_io(b), b->base, b->size);
	return what ? what : away(f, i);
}

/*
 * Another function's BAR, or another one of its own, which has an address. A ROM gives way to all
 * others, and to ROMs.
 */
static bool overlaps(const struct pci_function *f, unsigned i)
{
	unsigned others = i == PCI_ROM_BAR ? PCI_BARS : PCI_ROM_BAR;
	const struct pci_function *g;

	for (unsigned n = 0; (g = pci_get(n)); n++) {
		for (unsigned k = 0; k < others; k++) {
			const struct pci_bar *b = &g->bar[k];

			if ((g != f || i != k) && b->base &&
			    pci_bar_is_io(b) == pci_bar_is_io(&f->bar[i]) &&
			    meets(&f->bar[i], b->base, b->size) && !wrong(g, k))
				return true;
		}
	}
	return false;
}

const char *pci_misplaced(const struct pci_function *f)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const char *what;

		if (!f->bar[i].base || !f->bar[i].size)
			continue;
		what = wrong(f, i);
		if (what)
			return what;
		if (overlaps(f, i))
			return "one of its BARs overlaps another";
	}
	return NULL;
}

void pci_bars(const struct pci_function *f, struct pci_bar bar[PCI_BARS])
{
	struct pci_bar *rom = &bar[PCI_ROM_BAR];

	memcpy(bar, f->bar, sizeof(f->bar));
	/* One of no size ends before it begins, which is wrong, too. */
	if (rom->base && (wrong(f, PCI_ROM_BAR) || overlaps(f, PCI_ROM_BAR)))
		rom->base = 0;
}
