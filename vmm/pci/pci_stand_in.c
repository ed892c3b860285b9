/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_stand_in.h. PCI Local Bus 3.0, 6.1: configuration space of a header. */
#include "vmm/pci/pci_stand_in.h"

#include <margay/host.h>
#include <margay/pci_regs.h>

u32 pci_stand_in_read(const struct pci_stand_ins *all, u8 bus, u8 devfn, u16 offset, unsigned size)
{
	for (unsigned i = 0; i < all->count; i++) {
		const struct pci_stand_in *s = &all->of[i];
		u32 value = 0;

		if (s->bus != bus || s->devfn != devfn)
			continue;
		if ((offset & ~3u) == PCI_REG_ID)
			value = s->id;
		else if ((offset & ~3u) == PCI_REG_CLASS)
			value = s->class_revision;
		else if ((offset & ~3u) == PCI_REG_HEADER)
			value = s->header;
		else if ((offset & ~3u) == PCI_REG_SUBSYSTEM)
			value = s->subsystem;
		value >>= (offset & 3) * 8;
		return size == 4 ? value : value & (u32)(BIT(size * 8) - 1);
	}
	return ~0u;
}

static bool has_stand_in(const struct pci_stand_ins *all, u8 bus, u8 devfn)
{
	for (unsigned i = 0; i < all->count; i++)
		if (all->of[i].bus == bus && all->of[i].devfn == devfn)
			return true;
	return false;
}

static bool has_function(const struct vm_pci *pci, u8 bus, u8 devfn)
{
	for (unsigned i = 0; i < pci->nr_functions; i++)
		if (pci->function[i].address.bus == bus && pci->function[i].address.devfn == devfn)
			return true;
	return false;
}

/* Of the host's function there, if it has one and the guest has not. */
static void add(const struct vm_pci *pci, struct pci_stand_ins *all, u8 bus, u8 devfn,
		bool host_bridge)
{
	struct host_pci_function f;
	unsigned i = 0;

	while (host_pci_function(i, &f) &&
	       !pci_same_address(&f.address, &(struct pci_address){ 0, bus, devfn }))
		i++;
	if (has_function(pci, bus, devfn) || has_stand_in(all, bus, devfn) ||
	    !host_pci_function(i, &f) ||
	    (host_bridge && f.id.class_code >> 8 != PCI_CLASS_HOST_BRIDGE))
		return;
	all->of[all->count++] = host_bridge ? (struct pci_stand_in){
		.bus = bus, .devfn = devfn, .id = f.id.vendor | (u32)f.id.device << 16,
		.class_revision = host_pci_read(i, PCI_REG_CLASS, 4),
		.subsystem = host_pci_read(i, PCI_REG_SUBSYSTEM, 4),
		.header = host_pci_read(i, PCI_REG_HEADER, 4) & PCI_HEADER_MULTI,
	} : (struct pci_stand_in){
		/* An ID and a class that no driver takes. */
		.bus = bus, .devfn = devfn, .id = f.id.vendor | 0xffff0000u,
		.class_revision = 0xff000000,
		.header = PCI_HEADER_MULTI,
	};
}

void pci_stand_ins(const struct vm_pci *pci, struct pci_stand_ins *out)
{
	add(pci, out, 0, 0, true);
	for (unsigned i = 0; i < pci->nr_functions; i++)
		add(pci, out, pci->function[i].address.bus, pci->function[i].address.devfn & 0xf8,
		    false);
}
