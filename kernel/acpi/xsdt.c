/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the list of tables, XSDT or RSDT (ACPI 5.2.7, 5.2.8). */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

const char *xsdt_read(const void *table, size_t size, bool is_xsdt, struct xsdt_info *out)
{
	const u8 *p = table;
	size_t width = is_xsdt ? 8 : 4;
	struct acpi_sdt h;
	const char *reason = acpi_read_fixed(table, size, is_xsdt ? "XSDT" : "RSDT", &h, sizeof(h));

	if (reason)
		return reason;
	*out = (struct xsdt_info){ 0 };
	for (size_t at = sizeof(h); at + width <= h.length; at += width) {
		u64 address = 0;

		memcpy(&address, p + at, width);
		if (!address)
			continue;
		if (out->count < XSDT_MAX)
			out->table[out->count++] = address;
		else
			out->dropped++;
	}
	return NULL;
}
