/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which functions an IOMMU cannot keep apart: pci_group() in pci_core.h; which is alone; and what
 * is above one: pci_path.h. PCI Express Base 5.0, 6.12.1.
 */
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_path.h"

static unsigned device_type(const struct pci_function *f)
{
	u16 exp = pci_find_cap(f, PCI_CAP_EXP);

	return exp ? PCI_EXP_TYPE(pci_read(f->address, exp + PCI_EXP_CAPABILITIES, 2))
		   : PCIE_TO_PCI;
}

/*
 * What is needed of a port is all of it; of a function that is none, what it has: without
 * redirection it sends to no other.
 */
static bool isolates(const struct pci_function *f)
{
	u16 acs = pci_find_extended_cap(f, PCI_EXT_CAP_ACS), need = PCI_ACS_ISOLATION, can;

	/*
	 * VFs without it do not send to others of their device (PCI Express 6.12.1.2): else they
	 * would have to have it.
	 */
	if (!acs && pci_physical(f) != f)
		return true;
	if (!acs)
		return f->header_type == PCI_HEADER_FUNCTION &&
		       pci_sends_to_no_other(&f->id, device_type(f));
	can = (u16)pci_read(f->address, acs + PCI_ACS_CAPABILITIES, 2);
	if (f->header_type != PCI_HEADER_BRIDGE)
		need &= can;
	/* pci_isolate() switches it on where there is an IOMMU; else it can be. */
	return !(need & ~can) &&
	       !(pci_isolating && need & ~pci_read(f->address, acs + PCI_ACS_CONTROL, 2));
}

const struct pci_function *pci_bridge_of(const struct pci_function *f)
{
	/* a virtual function may have another */
	u8 bus = pci_physical(f)->address.bus;
	const struct pci_function *b;

	for (unsigned i = 0; (b = pci_get(i)); i++)
		if (b->header_type == PCI_HEADER_BRIDGE &&
		    b->address.segment == f->address.segment && b->secondary_bus == bus &&
		    b->address.bus < bus)
			return b;
	return NULL;
}

/* The first function of its device that may send to the others without leaving it. */
static const struct pci_function *first_of_device(const struct pci_function *f)
{
	const struct pci_function *g;

	if (isolates(f))
		return f;
	for (unsigned i = 0; (g = pci_get(i)) && g != f; i++)
		if (g->address.segment == f->address.segment && g->address.bus == f->address.bus &&
		    PCI_DEVICE(g->address.devfn) == PCI_DEVICE(f->address.devfn) && !isolates(g))
			return g;
	return f;
}

const struct pci_function *pci_own_port(const struct pci_function *f)
{
	const struct pci_function *port = pci_bridge_of(f), *g;

	if (!port || (device_type(port) != PCIE_ROOT_PORT && device_type(port) != PCIE_DOWNSTREAM))
		return NULL;
	for (unsigned i = 0; (g = pci_get(i)); i++)
		if (g != f && g->address.segment == f->address.segment &&
		    g->address.bus >= port->secondary_bus &&
		    g->address.bus <= port->subordinate_bus)
			return NULL;
	return port;
}

/*
 * A switch's port to the root: it passes on what its downstream ports send there, and has ACS only
 * beside other functions.
 */
static bool is_upstream(const struct pci_function *f)
{
	return device_type(f) == PCIE_UPSTREAM;
}

struct pci_address pci_group(const struct pci_function *f)
{
	const struct pci_function *top = first_of_device(f);
	bool apart = false; /* by the bridge just below */

	/*
	 * All the way to the root: a port without ACS may send back what one below it has passed on
	 * to be looked at.
	 */
	for (f = pci_bridge_of(f); f; f = pci_bridge_of(f)) {
		bool isolating = isolates(f);

		if (!isolating && !(apart && is_upstream(f)))
			top = first_of_device(f);
		apart = isolating;
	}
	return top->address;
}

#define EXP_DEVICE2 0x24 /* Device Capabilities 2 */

unsigned pci_path(const struct pci_function *f)
{
	struct pci_hop hop[PCI_HOPS];
	unsigned count = 0;

	for (f = pci_bridge_of(f); f && count < PCI_HOPS; f = pci_bridge_of(f)) {
		u16 exp = pci_find_cap(f, PCI_CAP_EXP);
		u32 says = exp ? pci_read(f->address, exp + PCI_EXP_CAPABILITIES, 2)
			       : PCIE_TO_PCI << 4;
		bool second = (says & PCI_EXP_VERSION) > 1;

		hop[count++] = (struct pci_hop){
			.vendor = f->id.vendor,
			.device = f->id.device,
			.type = (u8)PCI_EXP_TYPE(says),
			.cap2 = second ? pci_read(f->address, exp + EXP_DEVICE2, 4) : 0,
			.control2 =
				second ? (u16)pci_read(f->address, exp + PCI_EXP_DEVICE_CONTROL2, 2)
				       : 0,
		};
	}
	return pci_path_takes(hop, count);
}
