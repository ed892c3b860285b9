/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the HPET description table (IA-PC HPET 1.0a, 3.2.4). */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

const char *hpet_table_read(const void *table, size_t size, struct hpet_info *out)
{
	struct acpi_hpet hpet;
	const char *reason = acpi_read_fixed(table, size, "HPET", &hpet, sizeof(hpet));

	if (reason)
		return reason;
	if (hpet.base.space_id != ACPI_SPACE_MEMORY)
		return "its registers are not in memory";
	if (!hpet.base.address || hpet.base.address >= BIT(52) || !IS_ALIGNED(hpet.base.address, 8))
		return "its base address is impossible";
	out->base = hpet.base.address;
	out->number = hpet.number;
	return NULL;
}
