/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which functions and I/O APICs a structure of the DMAR is about: VT-d 4.0, 8.3 (DRHD), 8.3.1
 * (device scopes), 8.4 (RMRR), 8.9.
 */
#include "kernel/iommu/iommu.h"

static const struct pci_function *find(const struct pci_address *a)
{
	const struct pci_function *f;

	for (unsigned i = 0; (f = pci_get(i)) && !pci_same_address(&f->address, a); i++)
		;
	return f;
}

/*
 * Where a scope's path leads to; bridges on the way have the bus numbers that firmware gave them.
 * False: one is not there.
 */
static bool leads_to(u16 segment, const struct dmar_scope *s, struct pci_address *a)
{
	*a = (struct pci_address){ segment, s->start_bus, 0 };
	for (unsigned hop = 0; hop < s->depth; hop++) {
		const struct pci_function *f = hop ? find(a) : NULL;

		if (hop && !f)
			return false;
		a->bus = f ? f->secondary_bus : a->bus;
		a->devfn = PCI_DEVFN(s->path[hop].device, s->path[hop].function);
	}
	return true;
}

bool dmar_names(const struct dmar_info *d, const struct dmar_unit *u, const struct pci_function *f)
{
	u16 bdf = (u16)(f->address.bus << 8 | f->address.devfn);

	/* VFs go with their PF (VT-d 4.0, 8.3). */
	f = pci_physical(f);
	if (u->segment != f->address.segment)
		return false;
	for (unsigned i = 0; i < u->nr_scopes; i++) {
		const struct dmar_scope *s = &d->scope[u->first_scope + i];
		const struct pci_function *n = NULL;
		struct pci_address a;

		if ((s->type == DMAR_SCOPE_ENDPOINT || s->type == DMAR_SCOPE_BRIDGE) &&
		    leads_to(u->segment, s, &a))
			n = find(&a);

		if (n &&
		    (n == f ||
		     (s->type == DMAR_SCOPE_BRIDGE && n->header_type == PCI_HEADER_BRIDGE &&
		      f->address.bus >= n->secondary_bus && f->address.bus <= n->subordinate_bus)))
			return true;
		if (s->type >= DMAR_SCOPE_RANGE && s->first <= bdf && bdf <= s->last)
			return true;
	}
	return false;
}

bool dmar_shares(const struct dmar_info *d, const struct pci_function *f)
{
	u16 bdf = (u16)(f->address.bus << 8 | f->address.devfn);

	for (unsigned i = 0; i < d->nr_units; i++) {
		if (d->unit[i].segment != f->address.segment)
			continue;
		for (unsigned n = 0; n < d->unit[i].nr_scopes; n++) {
			const struct dmar_scope *s = &d->scope[d->unit[i].first_scope + n];

			if ((s->type == DMAR_SCOPE_ALIAS || s->type == DMAR_SCOPE_IOAPIC ||
			     s->type == DMAR_SCOPE_HPET) &&
			    s->first <= bdf && bdf <= s->last && s->last)
				return true;
		}
	}
	return false;
}

u8 dmar_settings(const struct dmar_info *d, const struct pci_function *f)
{
	u16 bdf = (u16)(f->address.bus << 8 | f->address.devfn);
	int unit = dmar_unit_of(d, f);
	u8 settings;

	if (unit < 0)
		return 0;
	settings = d->unit[unit].settings;
	for (unsigned n = 0; n < d->unit[unit].nr_scopes; n++) {
		const struct dmar_scope *s = &d->scope[d->unit[unit].first_scope + n];

		settings |= s->first <= bdf && bdf <= s->last ? s->settings : 0;
	}
	return settings;
}

int dmar_unit_of_ioapic(const struct dmar_info *d, u8 id, u16 *source)
{
	for (unsigned i = 0; i < d->nr_units; i++) {
		if (d->unit[i].type != ACPI_DMAR_DRHD)
			continue;
		for (unsigned n = 0; n < d->unit[i].nr_scopes; n++) {
			const struct dmar_scope *s = &d->scope[d->unit[i].first_scope + n];
			struct pci_address a;

			/* As a function it may be hidden. */
			if (s->type != DMAR_SCOPE_IOAPIC || s->enumeration_id != id ||
			    !leads_to(d->unit[i].segment, s, &a))
				continue;
			*source = (u16)(a.bus << 8 | a.devfn);
			return (int)i;
		}
	}
	return -1;
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
		/* But what another has of which nothing is known. */
		if (u->flags & ACPI_DMAR_PCI_ALL && rest < 0 && !d->lost)
			rest = (int)i;
	}
	return rest;
}
