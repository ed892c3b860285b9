/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: reads SMBIOS (DMTF DSP0134 3.6), entry points (5.2) and structures (6.1), that
 * anybody may have written.
 */
#include <margay/acpi.h>
#include <margay/string.h>

#include "kernel/acpi/tables.h"

#define HEADER 4
#define END_OF_TABLE 127
#define ENTRY_MIN 24

static bool good(const u8 *p, size_t left, const char anchor[5], u8 length)
{
	return !memcmp(p, anchor, 4) && length >= ENTRY_MIN && length <= left &&
	       acpi_checksum_ok(p, length);
}

bool smbios_entry(const void *memory, size_t size, u64 *table, u32 *length)
{
	bool found = false;

	/*
	 * As Linux does it: one of 64 bits wins, wherever it is; early ones of 32 bits say 30 bytes
	 * and mean 31.
	 */
	for (size_t at = 0; at + ENTRY_MIN <= size; at += 16) {
		const u8 *p = (const u8 *)memory + at;

		if (good(p, size - at, "_SM3", p[6])) {
			memcpy(length, p + 12, 4);
			memcpy(table, p + 16, 8);
			return true;
		}
		if (!found && p[5] >= 30 && good(p, size - at, "_SM_", p[5])) {
			found = true;
			*length = *table = 0;
			memcpy(length, p + 22, 2);
			memcpy(table, p + 24, 4);
		}
	}
	return found;
}

const u8 *smbios_find(const void *table, size_t size, u8 type, unsigned n, const u8 **end)
{
	const u8 *p = table, *stop = size ? p + size : p; /* NULL and 0 where there is none */

	while (stop - p >= HEADER && p[1] >= HEADER && p[1] <= stop - p - 2) {
		const u8 *z = p + p[1];

		while (z[0] || z[1])
			if (++z > stop - 2)
				return NULL;
		if (p[0] == type && !n--) {
			*end = z;
			return p;
		}
		if (p[0] == END_OF_TABLE)
			break;
		p = z + 2;
	}
	return NULL;
}
