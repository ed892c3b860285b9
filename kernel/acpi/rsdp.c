/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the ACPI root pointer (ACPI 5.2.5), and the checks that every table shares. */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

bool acpi_checksum_ok(const void *table, size_t size)
{
	const u8 *p = table;
	u8 sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (u8)(sum + p[i]);
	return sum == 0;
}

const char *acpi_read_fixed(const void *table, size_t size, const char signature[4], void *fixed,
			    size_t min)
{
	struct acpi_sdt h;

	if (size < sizeof(h))
		return "too short for a header";
	memcpy(&h, table, sizeof(h));
	if (memcmp(h.signature, signature, 4))
		return "wrong signature";
	if (h.length < min || h.length < sizeof(h))
		return "shorter than its fixed part";
	if (h.length > size)
		return "longer than the memory it is in";
	if (!acpi_checksum_ok(table, h.length))
		return "wrong checksum";
	memcpy(fixed, table, min);
	return NULL;
}

const char *acpi_read_entries(const void *table, size_t at, size_t end, size_t head,
			      const char *(*read)(const u8 *entry, size_t size, void *ctx),
			      void *ctx)
{
	const char *reason = NULL;

	while (!reason && at < end) {
		const u8 *entry = (const u8 *)table + at;
		size_t left = end - at, size = 0;

		if (left >= head)
			size = head == 2 ? entry[1] : entry[2] | (size_t)entry[3] << 8;
		if (size < head || size > left)
			return "an entry's length is wrong";
		reason = read(entry, size, ctx);
		at += size;
	}
	return reason;
}

const char *rsdp_read(const void *rsdp, size_t size, struct rsdp_info *out)
{
	struct acpi_rsdp r = { 0 };

	if (size < ACPI_RSDP_V1_SIZE)
		return "too short";
	memcpy(&r, rsdp, MIN(size, sizeof(r)));
	if (memcmp(r.signature, "RSD PTR ", 8))
		return "wrong signature";
	if (!acpi_checksum_ok(rsdp, ACPI_RSDP_V1_SIZE))
		return "wrong checksum";
	out->is_xsdt = r.revision >= 2 && r.xsdt_address;
	if (out->is_xsdt) {
		if (r.length < sizeof(r) || r.length > size)
			return "wrong length";
		if (!acpi_checksum_ok(rsdp, r.length))
			return "wrong extended checksum";
	}
	out->table = out->is_xsdt ? r.xsdt_address : r.rsdt_address;
	return out->table ? NULL : "points nowhere";
}

long rsdp_scan(const void *memory, size_t size)
{
	struct rsdp_info info;

	for (size_t at = 0; at + ACPI_RSDP_V1_SIZE <= size; at += 16)
		if (!rsdp_read((const u8 *)memory + at, size - at, &info))
			return (long)at;
	return -1;
}
