/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the registers of virtual functions are: where firmware has put them, or what is free beside
 * others'. See pci_function.h.
 */
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"
#include "kernel/pci/pci_sriov_cap.h"

/* May its VFs' BAR i, `size` bytes of all together, lie there? */
static bool fits(const struct pci_function *pf, const struct sriov *s, unsigned i, u64 base,
		 u64 size)
{
	const struct pci_bar *b = &s->bar[i];
	struct pci_function all = { .address = pf->address, .bar[0] = { base, size, b->flags } };

	if (!base || base + size - 1 < base || (!pci_bar_is_64(b) && base + size > GIB(4)))
		return false;
	for (unsigned k = 0; k < i; k++)
		if (s->bar[k].size && base < s->bar[k].base + size / b->size * s->bar[k].size &&
		    s->bar[k].base < base + size)
			return false;
	return !pci_misplaced(&all) && pci_bridges_pass(pf, false, base, base + size - 1);
}

/* Above or below a BAR of another function: where all windows have their room. */
static bool find_room(const struct pci_function *pf, struct sriov *s, unsigned i, u64 size)
{
	struct pci_bar *b = &s->bar[i];
	const struct pci_function *f;

	for (unsigned n = 0; (f = pci_get(n)); n++) {
		for (unsigned k = 0; k < PCI_ROM_BAR; k++) {
			const struct pci_bar *other = &f->bar[k];
			u64 above = ALIGN_UP(other->base + other->size, b->size);
			u64 below =
				other->base > size ? ALIGN_DOWN(other->base - size, b->size) : 0;

			if (!pci_bar_is_memory(other))
				continue;
			b->base = fits(pf, s, i, above, size) ? above : 0;
			if (!b->base && fits(pf, s, i, below, size))
				b->base = below;
			if (b->base)
				return true;
		}
	}
	return false;
}

const char *pci_vf_place(const struct pci_function *pf, struct sriov *s, unsigned count)
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &s->bar[i];

		if (!b->size || (b->base && fits(pf, s, i, b->base, b->size * count)))
			continue;
		if (pci_window(pf, false, 0, 1) == PCI_WINDOW_UNKNOWN)
			return "the firmware gave its virtual functions no addresses, and does not say which its root bus has: "
			       "SR-IOV in the setup, or facts";
		if (!find_room(pf, s, i, b->size * count))
			return "its root bus, or the bridge above it, has no room for the registers of so many virtual "
			       "functions: SR-IOV in the setup";
	}
	return NULL;
}
