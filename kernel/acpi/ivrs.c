/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: IVRS, AMD's IOMMUs and the memory that firmware reserves through them (AMD IOMMU
 * 3.07, 5.2).
 */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

/* variable length: 22 bytes, then a unique ID of as many bytes as byte 21 says */
#define IVHD_ENTRY_ACPI_HID 240

size_t ivrs_entry_length(const u8 *entry, size_t left)
{
	size_t n;

	if (!left)
		return 0;
	if (entry[0] == IVHD_ENTRY_ACPI_HID)
		n = left < 22 ? 22 : 22u + entry[21];
	else
		n = 4u << (entry[0] >> 6);
	return n <= left ? n : 0;
}

static const char *read_ivhd(const u8 *table, size_t at, struct acpi_ivrs_sub sub,
			     struct ivrs_info *out)
{
	size_t fixed =
		sub.type == ACPI_IVHD_10H ? sizeof(struct acpi_ivhd) : sizeof(struct acpi_ivhd_ext);
	struct acpi_ivhd_ext h = { 0 };
	unsigned i;

	if (sub.length < fixed)
		return "an IVHD block is too short";
	memcpy(&h, table + at, fixed);
	if (!h.ivhd.base || !IS_ALIGNED(h.ivhd.base, PAGE_SIZE))
		return "an IOMMU's base address is impossible";
	for (size_t e = fixed; e < sub.length;) {
		size_t n = ivrs_entry_length(table + at + e, sub.length - e);

		if (!n)
			return "a device entry is cut";
		e += n;
	}

	/* One IOMMU may be described by a block of each type; the highest says most. */
	for (i = 0; i < out->nr_iommus; i++)
		if (out->iommu[i].device_id == h.ivhd.device_id &&
		    out->iommu[i].segment == h.ivhd.segment)
			break;
	if (i < out->nr_iommus && out->iommu[i].type >= sub.type)
		return NULL;
	if (i == IVRS_MAX_IOMMUS)
		return "more than 64 IOMMUs";
	out->nr_iommus = MAX(out->nr_iommus, i + 1);
	out->iommu[i] = (struct ivrs_iommu){
		.type = sub.type,
		.flags = sub.flags,
		.device_id = h.ivhd.device_id,
		.capability = h.ivhd.capability_offset,
		.segment = h.ivhd.segment,
		.base = h.ivhd.base,
		.efr = h.efr,
		.entries_offset = (u32)(at + fixed),
		.entries_size = (u32)(sub.length - fixed),
	};
	return NULL;
}

static const char *read_ivmd(const u8 *p, struct acpi_ivrs_sub sub, struct ivrs_info *out)
{
	struct acpi_ivmd m;
	u16 first, last;

	if (sub.length < sizeof(m))
		return "an IVMD block is too short";
	memcpy(&m, p, sizeof(m));
	if (m.base + m.size < m.base)
		return "a memory block wraps around";
	if (out->nr_memory == IVRS_MAX_MEMORY)
		return "more than 64 memory blocks";
	first = m.device_id;
	last = m.device_id;
	if (sub.type == ACPI_IVMD_RANGE)
		last = m.auxiliary;
	if (sub.type == ACPI_IVMD_ALL) {
		first = 0;
		last = 0xffff;
	}
	if (last < first)
		return "a memory block's device range ends before it starts";
	out->memory[out->nr_memory++] = (struct ivrs_memory){
		.type = sub.type,
		.flags = sub.flags,
		.first = first,
		.last = last,
		.segment = m.segment,
		.base = m.base,
		.size = m.size,
	};
	return NULL;
}

const char *ivrs_read(const void *table, size_t size, struct ivrs_info *out)
{
	const u8 *p = table;
	struct acpi_ivrs ivrs;
	const char *reason = acpi_read_fixed(table, size, "IVRS", &ivrs, sizeof(ivrs));

	if (reason)
		return reason;
	memset(out, 0, sizeof(*out));
	out->iv_info = ivrs.iv_info;
	for (size_t at = sizeof(ivrs); at < ivrs.header.length;) {
		size_t left = ivrs.header.length - at;
		struct acpi_ivrs_sub sub;

		if (left < sizeof(sub))
			return "a block is cut";
		memcpy(&sub, p + at, sizeof(sub));
		if (sub.length < sizeof(sub) || sub.length > left)
			return "a block's length is wrong";
		if (sub.type == ACPI_IVHD_10H || sub.type == ACPI_IVHD_11H ||
		    sub.type == ACPI_IVHD_40H)
			reason = read_ivhd(p, at, sub, out);
		else if (sub.type >= ACPI_IVMD_ALL && sub.type <= ACPI_IVMD_RANGE)
			reason = read_ivmd(p + at, sub, out);
		if (reason)
			return reason;
		at += sub.length;
	}
	return NULL;
}
