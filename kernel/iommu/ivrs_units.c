/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: an IVRS in the words of a DMAR, so that the rest need not tell them apart: units,
 * which requester IDs they have, memory that firmware keeps. AMD I/O Virtualization Technology
 * Specification 3.07, 5.2.2.1 (device entries), 5.2.2.3 (IVMD).
 */
#include "kernel/iommu/iommu.h"

#include <margay/string.h>

/* Types of device entries. */
enum {
	ALL = 1,
	SELECT,
	RANGE,
	RANGE_END,
	ALIAS = 66,
	ALIAS_RANGE,
	EXTENDED = 70,
	EXTENDED_RANGE,
	SPECIAL,
	ACPI_HID = 240
};
#define SPECIAL_IOAPIC 1
#define SPECIAL_HPET 2

static_assert(IVRS_MAX_IOMMUS <= DMAR_MAX_UNITS, "they come first");

static u16 id_at(const u8 *p)
{
	return (u16)(p[0] | p[1] << 8);
}

static struct dmar_scope *add_scope(struct dmar_info *d, u16 type, u16 first, u16 last, u8 settings)
{
	struct dmar_unit *u = &d->unit[d->nr_units - 1];
	struct dmar_scope *s = &d->scope[d->nr_scopes];

	if (d->nr_scopes == DMAR_MAX_SCOPES)
		return NULL;
	d->nr_scopes++;
	u->nr_scopes++;
	*s = (struct dmar_scope){
		.type = type,
		.start_bus = (u8)(first >> 8),
		.depth = 1,
		.path = { { first >> 3 & 31, first & 7 } },
		.first = first,
		.last = last,
		.settings = settings & ACPI_IVHD_SETTINGS,
	};
	return s;
}

/* An I/O APIC or an HPET by its requester ID; what others there may be has its settings. */
static bool special(struct dmar_info *d, const u8 *e)
{
	u16 type = DMAR_SCOPE_RANGE;
	struct dmar_scope *s;

	if (e[7] == SPECIAL_IOAPIC)
		type = DMAR_SCOPE_IOAPIC;
	else if (e[7] == SPECIAL_HPET)
		type = DMAR_SCOPE_HPET;
	if (type == DMAR_SCOPE_RANGE && !(e[3] & ACPI_IVHD_SETTINGS))
		return true;
	s = add_scope(d, type, id_at(e + 5), id_at(e + 5), e[3]);
	if (s)
		s->enumeration_id = e[4];
	return s;
}

/* These send by the requester ID behind, which has the settings, too. */
static bool alias(struct dmar_info *d, const u8 *e, u16 first, u16 last)
{
	u16 as = id_at(e + 5);
	bool own = first == last && as == first;
	u16 type = own ? DMAR_SCOPE_RANGE : DMAR_SCOPE_ALIAS;

	if (!add_scope(d, type, first, last, e[3]))
		return false;
	return own || !(e[3] & ACPI_IVHD_SETTINGS) || add_scope(d, DMAR_SCOPE_RANGE, as, as, e[3]);
}

/* The lengths have been checked when the table was read. */
static bool read_entries(struct dmar_info *d, const u8 *e, size_t size)
{
	struct dmar_unit *u = &d->unit[d->nr_units - 1];
	const u8 *range = NULL; /* the entry that begins one */
	bool fits = true;
	size_t n;

	for (; fits && size; e += n, size -= n) {
		n = ivrs_entry_length(e, size);
		switch (e[0]) {
		case ALL:
			u->flags = ACPI_DMAR_PCI_ALL;
			u->settings = e[3] & ACPI_IVHD_SETTINGS;
			break;
		case SELECT:
		case EXTENDED:
			fits = add_scope(d, DMAR_SCOPE_RANGE, id_at(e + 1), id_at(e + 1), e[3]);
			break;
		case ALIAS: fits = alias(d, e, id_at(e + 1), id_at(e + 1)); break;
		case RANGE:
		case EXTENDED_RANGE:
		case ALIAS_RANGE: range = e; break;
		case RANGE_END:
			if (range && range[0] == ALIAS_RANGE)
				fits = alias(d, range, id_at(range + 1), id_at(e + 1));
			else if (range)
				fits = add_scope(d, DMAR_SCOPE_RANGE, id_at(range + 1),
						 id_at(e + 1), range[3]);
			range = NULL;
			break;
		case SPECIAL: fits = special(d, e); break;
		case ACPI_HID: /* a device without configuration space */
			fits = !(e[3] & ACPI_IVHD_SETTINGS) ||
			       add_scope(d, DMAR_SCOPE_RANGE, id_at(e + 1), id_at(e + 1), e[3]);
			break;
		default: break;
		}
	}
	return fits;
}

const char *ivrs_units(const struct ivrs_info *iv, const u8 *table, struct dmar_info *out)
{
	memset(out, 0, sizeof(*out));
	out->flags = ACPI_DMAR_INTR_REMAP;
	if (iv->nr_iommus + iv->nr_memory > DMAR_MAX_STRUCTURES)
		return "more than 128 IOMMUs and memory blocks";
	for (unsigned i = 0; i < iv->nr_iommus; i++) {
		const struct ivrs_iommu *m = &iv->iommu[i];

		out->unit[out->nr_units++] = (struct dmar_unit){
			.type = ACPI_DMAR_DRHD,
			.segment = m->segment,
			.base = m->base,
			.first_scope = out->nr_scopes,
			.function = m->device_id,
			.hints = m->flags,
			.domain = ~0u,
		};
		if (!read_entries(out, table + m->entries_offset, m->entries_size))
			return "more than 512 device entries";
	}
	for (unsigned i = 0; i < iv->nr_memory; i++) {
		const struct ivrs_memory *m = &iv->memory[i];

		if (!m->size)
			continue;
		out->unit[out->nr_units++] = (struct dmar_unit){
			.type = ACPI_DMAR_RMRR,
			.segment = m->segment,
			.base = m->base,
			.limit = m->base + m->size - 1,
			.first_scope = out->nr_scopes,
		};
		if (!add_scope(out, DMAR_SCOPE_RANGE, m->first, m->last, 0))
			return "more than 512 device entries";
	}
	return NULL;
}
