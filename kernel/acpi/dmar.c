/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: DMAR, Intel's IOMMUs and the memory that firmware reserves through them (VT-d 4.0,
 * chapter 8).
 */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

static const char too_many_scopes[] = "more than 512 device scopes";
static_assert(DMAR_MAX_SCOPES == 512, "too_many_scopes");

static const char *read_scopes(const u8 *p, size_t size, struct dmar_info *d,
			       struct dmar_unit *unit)
{
	unit->first_scope = d->nr_scopes;
	for (size_t at = 0; at < size;) {
		struct acpi_dmar_scope head;
		struct dmar_scope *s;
		size_t path;

		if (size - at < sizeof(head))
			return "a device scope is cut";
		memcpy(&head, p + at, sizeof(head));
		if (head.length < sizeof(head) + sizeof(struct acpi_dmar_path) ||
		    head.length > size - at)
			return "a device scope's length is wrong";
		path = head.length - sizeof(head);
		if (path % sizeof(struct acpi_dmar_path) || path > sizeof(s->path))
			return "a device scope's path is longer than 8";
		if (d->nr_scopes == DMAR_MAX_SCOPES)
			return too_many_scopes;
		s = &d->scope[d->nr_scopes++];
		s->type = head.type;
		s->enumeration_id = head.enumeration_id;
		s->start_bus = head.start_bus;
		s->depth = (u8)(path / sizeof(struct acpi_dmar_path));
		memcpy(s->path, p + at + sizeof(head), path);
		at += head.length;
	}
	unit->nr_scopes = d->nr_scopes - unit->first_scope;
	return NULL;
}

/* Which node's unit it is. */
static void note_domain(struct dmar_info *d, u64 base, u32 domain)
{
	for (unsigned i = 0; i < d->nr_units; i++)
		if (d->unit[i].type == ACPI_DMAR_DRHD && d->unit[i].base == base)
			d->unit[i].domain = domain;
}

/* What of each structure is before its scopes. */
union structure {
	struct acpi_dmar_sub sub;
	struct acpi_dmar_drhd drhd;
	struct acpi_dmar_rmrr rmrr;
	struct acpi_dmar_atsr atsr;
	struct acpi_dmar_rhsa rhsa;
	struct acpi_dmar_satc satc;
};

/* How long that is; 0: a newer kind, which names nothing that must be obeyed. */
static size_t fixed_size(const union structure *s)
{
	static const u8 sizes[] = {
		[ACPI_DMAR_DRHD] = sizeof(s->drhd), [ACPI_DMAR_RMRR] = sizeof(s->rmrr),
		[ACPI_DMAR_ATSR] = sizeof(s->atsr), [ACPI_DMAR_RHSA] = sizeof(s->rhsa),
		[ACPI_DMAR_SATC] = sizeof(s->satc),
	};

	return s->sub.type < ARRAY_SIZE(sizes) ? sizes[s->sub.type] : 0;
}

/* ATSR is not: ports below which ATS would work. Nobody's is switched on. */
static bool is_kept(const union structure *s)
{
	switch (s->sub.type) {
	case ACPI_DMAR_DRHD:
	case ACPI_DMAR_RMRR: return true;
	case ACPI_DMAR_SATC: return s->satc.flags & ACPI_DMAR_ATC_REQUIRED;
	default: return false;
	}
}

static const char *read_kept(const union structure *s, struct dmar_unit *unit)
{
	unit->type = s->sub.type;
	switch (unit->type) {
	case ACPI_DMAR_DRHD:
		if (!s->drhd.base || !IS_ALIGNED(s->drhd.base, PAGE_SIZE))
			return "a remapping unit's base address is impossible";
		unit->flags = s->drhd.flags;
		unit->segment = s->drhd.segment;
		unit->base = s->drhd.base;
		break;
	case ACPI_DMAR_RMRR:
		if (s->rmrr.limit < s->rmrr.base)
			return "a reserved region ends before it starts";
		unit->segment = s->rmrr.segment;
		unit->base = s->rmrr.base;
		unit->limit = s->rmrr.limit;
		break;
	default:
		unit->flags = s->satc.flags;
		unit->segment = s->satc.segment;
		break;
	}
	return NULL;
}

/* With the scopes that follow it. */
static const char *add_unit(struct dmar_info *d, struct dmar_unit *unit, const u8 *p, size_t size)
{
	unsigned before = d->nr_scopes;
	const char *reason = read_scopes(p, size, d, unit);

	/* Of a unit there is no more than that there is one: what it has is nobody's. */
	if (unit->type == ACPI_DMAR_DRHD &&
	    (reason == too_many_scopes || (!reason && d->nr_units >= DMAR_MAX_UNITS))) {
		d->nr_scopes = before;
		d->lost++;
		return NULL;
	}
	if (reason)
		return reason;
	if (d->nr_units == DMAR_MAX_STRUCTURES)
		return "more than 128 structures";
	d->unit[d->nr_units++] = *unit;
	return NULL;
}

static const char *read_structure(const u8 *p, size_t size, void *ctx)
{
	struct dmar_info *d = ctx;
	struct dmar_unit unit = { .domain = ~0u };
	union structure s;
	const char *reason;
	size_t fixed;

	memcpy(&s.sub, p, sizeof(s.sub));
	fixed = fixed_size(&s);
	if (!fixed)
		return NULL;
	if (size < fixed)
		return "a structure is too short";
	memcpy(&s, p, fixed);
	if (s.sub.type == ACPI_DMAR_RHSA)
		note_domain(d, s.rhsa.base, s.rhsa.domain);
	if (!is_kept(&s))
		return NULL;
	reason = read_kept(&s, &unit);
	return reason ? reason : add_unit(d, &unit, p + fixed, size - fixed);
}

const char *dmar_read(const void *table, size_t size, struct dmar_info *out)
{
	struct acpi_dmar dmar;
	const char *reason = acpi_read_fixed(table, size, "DMAR", &dmar, sizeof(dmar));

	if (reason)
		return reason;
	memset(out, 0, sizeof(*out));
	if (dmar.host_address_width > 63)
		return "the host address width is impossible";
	out->address_width = (u8)(dmar.host_address_width + 1);
	out->flags = dmar.flags;
	return acpi_read_entries(table, sizeof(dmar), dmar.header.length,
				 sizeof(struct acpi_dmar_sub), read_structure, out);
}
