/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: SLIT, the relative distances of proximity domains (ACPI 5.2.17). */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

const char *slit_read(const void *table, size_t size, struct slit_info *out)
{
	struct acpi_slit slit;
	const char *reason = acpi_read_fixed(table, size, "SLIT", &slit, sizeof(slit));

	if (reason)
		return reason;
	if (!slit.count)
		return "it has no localities";
	if (slit.count > SLIT_MAX)
		return "more than 64 localities";
	if (slit.header.length < sizeof(slit) + slit.count * slit.count)
		return "the matrix is cut";
	out->count = (unsigned)slit.count;
	memcpy(out->distance, (const u8 *)table + sizeof(slit), slit.count * slit.count);
	for (unsigned i = 0; i < out->count; i++)
		for (unsigned k = 0; k < out->count; k++) {
			u8 d = out->distance[i * out->count + k];

			/* Only the own domain is at 10, nothing is nearer. */
			if (d < 10 || (d == 10) != (i == k))
				return "a distance is impossible";
		}
	return NULL;
}
