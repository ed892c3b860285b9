/* SPDX-License-Identifier: GPL-2.0-only */
/* Which functions an IOMMU cannot keep apart: pci_group() in pci.h. */
#include "kernel/pci_function.h"

static bool isolates(const struct pci_function *f)
{
	return pci_find_extended_cap(f, PCI_EXT_CAP_ACS);
}

/* The bridge above; its own bus has a lower number, or firmware's numbers go in circles. */
static const struct pci_function *bridge_of(const struct pci_function *f)
{
	const struct pci_function *b;

	for (unsigned i = 0; (b = pci_get(i)); i++)
		if (b->header_type == 1 && b->address.segment == f->address.segment && b->secondary_bus == f->address.bus &&
		    b->address.bus < f->address.bus)
			return b;
	return NULL;
}

/* The first function of its device that may send to the others without leaving it. */
static const struct pci_function *first_of_device(const struct pci_function *f)
{
	const struct pci_function *g;

	for (unsigned i = 0; !isolates(f) && (g = pci_get(i)) && g != f; i++)
		if (g->address.segment == f->address.segment && g->address.bus == f->address.bus &&
		    g->address.devfn >> 3 == f->address.devfn >> 3 && !isolates(g))
			return g;
	return f;
}

struct pci_address pci_group(const struct pci_function *f)
{
	for (;;) {
		const struct pci_function *bridge;

		f = first_of_device(f);
		bridge = bridge_of(f);
		if (!bridge || isolates(bridge))
			return f->address;
		f = bridge;
	}
}
