/* SPDX-License-Identifier: GPL-2.0-only */
/* Which functions a structure of the DMAR is about: VT-d 4.0, 8.3 (DRHD), 8.3.1 (device scopes), 8.4 (RMRR). */
#include "kernel/iommu/iommu.h"

#define INCLUDE_PCI_ALL BIT(0)
#define SCOPE_ENDPOINT 1
#define SCOPE_BRIDGE 2

/* What a scope's path leads to; bridges on the way have the bus numbers that firmware gave them. NULL: there is none such. */
static const struct pci_function *named(u16 segment, const struct dmar_scope *s)
{
	const struct pci_function *f = NULL;
	struct pci_address a = { segment, s->start_bus, 0 };

	for (unsigned hop = 0; hop < s->depth; hop++) {
		a.bus = f ? f->secondary_bus : a.bus;
		a.devfn = PCI_DEVFN(s->path[hop].device, s->path[hop].function);
		for (unsigned i = 0; (f = pci_get(i)) && !pci_same_address(&f->address, &a); i++)
			;
		if (!f)
			return NULL;
	}
	return f;
}

bool dmar_names(const struct dmar_info *d, const struct dmar_unit *u, const struct pci_function *f)
{
	for (unsigned i = 0; u->segment == f->address.segment && i < u->nr_scopes; i++) {
		const struct dmar_scope *s = &d->scope[u->first_scope + i];
		const struct pci_function *n = s->type == SCOPE_ENDPOINT || s->type == SCOPE_BRIDGE ? named(u->segment, s) : NULL;

		if (n && (n == f || (s->type == SCOPE_BRIDGE && n->header_type == PCI_HEADER_BRIDGE &&
				     f->address.bus >= n->secondary_bus && f->address.bus <= n->subordinate_bus)))
			return true;
	}
	return false;
}

int dmar_unit_of(const struct dmar_info *d, const struct pci_function *f)
{
	int rest = -1;

	for (unsigned i = 0; i < d->nr_units; i++) {
		const struct dmar_unit *u = &d->unit[i];

		if (u->type != ACPI_DMAR_DRHD || u->segment != f->address.segment)
			continue;
		if (dmar_names(d, u, f))
			return (int)i;
		if (u->flags & INCLUDE_PCI_ALL && rest < 0)
			rest = (int)i;
	}
	return rest;
}
