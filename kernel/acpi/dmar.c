/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: DMAR, Intel's IOMMUs and the memory that firmware reserves through them (VT-d 4.0, chapter 8). */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

static const char *read_scopes(const u8 *p, size_t size, struct dmar_info *d, struct dmar_unit *unit)
{
	unit->first_scope = d->nr_scopes;
	for (size_t at = 0; at < size;) {
		struct acpi_dmar_scope head;
		struct dmar_scope *s;
		size_t path;

		if (size - at < sizeof(head))
			return "a device scope is cut";
		memcpy(&head, p + at, sizeof(head));
		if (head.length < sizeof(head) + sizeof(struct acpi_dmar_path) || head.length > size - at)
			return "a device scope's length is wrong";
		path = head.length - sizeof(head);
		if (path % sizeof(struct acpi_dmar_path) || path > sizeof(s->path))
			return "a device scope's path is longer than 8";
		if (d->nr_scopes == DMAR_MAX_SCOPES)
			return "more than 256 device scopes";
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

static const char *read_unit(const u8 *p, struct acpi_dmar_sub sub, struct dmar_info *d)
{
	struct dmar_unit unit = { .type = sub.type };
	struct acpi_dmar_drhd drhd;
	struct acpi_dmar_rmrr rmrr;
	struct acpi_dmar_atsr atsr;
	struct acpi_dmar_rhsa rhsa;
	size_t fixed;
	const char *reason;

	switch (sub.type) {
	case ACPI_DMAR_DRHD: fixed = sizeof(drhd); break;
	case ACPI_DMAR_RMRR: fixed = sizeof(rmrr); break;
	case ACPI_DMAR_ATSR: fixed = sizeof(atsr); break;
	case ACPI_DMAR_RHSA: fixed = sizeof(rhsa); break;
	default: return NULL; /* newer kinds name nothing that must be obeyed */
	}
	if (sub.length < fixed)
		return "a structure is too short";
	if (d->nr_units == DMAR_MAX_UNITS)
		return "more than 64 structures";

	switch (sub.type) {
	case ACPI_DMAR_DRHD:
		memcpy(&drhd, p, sizeof(drhd));
		if (!drhd.base || !IS_ALIGNED(drhd.base, PAGE_SIZE))
			return "a remapping unit's base address is impossible";
		unit.flags = drhd.flags;
		unit.segment = drhd.segment;
		unit.base = drhd.base;
		break;
	case ACPI_DMAR_RMRR:
		memcpy(&rmrr, p, sizeof(rmrr));
		if (rmrr.limit < rmrr.base)
			return "a reserved region ends before it starts";
		unit.segment = rmrr.segment;
		unit.base = rmrr.base;
		unit.limit = rmrr.limit;
		break;
	case ACPI_DMAR_ATSR:
		memcpy(&atsr, p, sizeof(atsr));
		unit.flags = atsr.flags;
		unit.segment = atsr.segment;
		break;
	default:
		memcpy(&rhsa, p, sizeof(rhsa));
		unit.base = rhsa.base;
		unit.domain = rhsa.domain;
		fixed = sub.length; /* no device scopes follow */
		break;
	}
	reason = read_scopes(p + fixed, sub.length - fixed, d, &unit);
	if (reason)
		return reason;
	d->unit[d->nr_units++] = unit;
	return NULL;
}

const char *dmar_read(const void *table, size_t size, struct dmar_info *out)
{
	const u8 *p = table;
	struct acpi_dmar dmar;
	const char *reason = acpi_check_header(table, size, "DMAR", sizeof(dmar));

	if (reason)
		return reason;
	memcpy(&dmar, table, sizeof(dmar));
	memset(out, 0, sizeof(*out));
	if (dmar.host_address_width > 63)
		return "the host address width is impossible";
	out->address_width = (u8)(dmar.host_address_width + 1);
	out->flags = dmar.flags;
	for (size_t at = sizeof(dmar); at < dmar.header.length;) {
		size_t left = dmar.header.length - at;
		struct acpi_dmar_sub sub;

		if (left < sizeof(sub))
			return "a structure is cut";
		memcpy(&sub, p + at, sizeof(sub));
		if (sub.length < sizeof(sub) || sub.length > left)
			return "a structure's length is wrong";
		reason = read_unit(p + at, sub, out);
		if (reason)
			return reason;
		at += sub.length;
	}
	return NULL;
}
