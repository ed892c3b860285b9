/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: MCFG, where PCI Express configuration space is in memory (PCI Firmware 3.2, 4.1.2).
 */
#include "kernel/acpi/tables.h"

#include <margay/pci_regs.h>
#include <margay/string.h>

const char *mcfg_read(const void *table, size_t size, struct mcfg_info *out)
{
	struct acpi_mcfg mcfg;
	const char *reason = acpi_read_fixed(table, size, "MCFG", &mcfg, sizeof(mcfg));

	if (reason)
		return reason;
	*out = (struct mcfg_info){ 0 };
	for (size_t at = sizeof(mcfg); at + sizeof(struct acpi_mcfg_entry) <= mcfg.header.length;
	     at += sizeof(struct acpi_mcfg_entry)) {
		struct acpi_mcfg_entry e;

		memcpy(&e, (const u8 *)table + at, sizeof(e));
		if (e.bus_start > e.bus_end)
			return "a bus range ends before it starts";
		if (!e.base || !IS_ALIGNED(e.base, PCI_ECAM_BUS_SIZE))
			return "a base address is not 1 MiB aligned";
		if (out->count == MCFG_MAX)
			return "more than 64 entries";
		out->entry[out->count++] = (struct mcfg_entry){
			.base = e.base,
			.segment = e.segment,
			.bus_start = e.bus_start,
			.bus_end = e.bus_end,
		};
	}
	return out->count ? NULL : "it has no entry";
}
