/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: FADT, the fixed hardware (ACPI 5.2.9). Tables of every revision: what is not there
 * reads as 0.
 */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

/* The X_ field when it is set, else the 32-bit I/O port one. */
static struct acpi_gas pick(struct acpi_gas x, u32 port, u8 length)
{
	if (x.address)
		return x;
	if (!port)
		return (struct acpi_gas){ 0 };
	return (struct acpi_gas){ .space_id = ACPI_SPACE_IO,
				  .bit_width = (u8)MIN(length * 8u, 255u),
				  .address = port };
}

const char *fadt_read(const void *table, size_t size, struct fadt_info *out)
{
	struct acpi_fadt f = { 0 };
	const char *reason = acpi_read_fixed(table, size, "FACP", &f, ACPI_FADT_V1_SIZE);

	if (reason)
		return reason;
	memcpy(&f, table, MIN((size_t)f.header.length, sizeof(f)));

	*out = (struct fadt_info){
		.flags = f.flags,
		.boot_arch = f.iapc_boot_arch,
		.century = f.century,
		.dsdt = f.x_dsdt ? f.x_dsdt : f.dsdt,
		.sleep_control = f.sleep_control_reg,
		.sleep_status = f.sleep_status_reg,
	};
	if (f.flags & ACPI_FADT_RESET_REG_SUP) {
		out->reset_reg = f.reset_reg;
		out->reset_value = f.reset_value;
	}
	if (!(f.flags & ACPI_FADT_HW_REDUCED)) {
		out->smi_cmd = f.smi_cmd;
		out->acpi_enable = f.acpi_enable;
		out->pm1a_cnt = pick(f.x_pm1a_cnt_blk, f.pm1a_cnt_blk, f.pm1_cnt_len);
		out->pm1b_cnt = pick(f.x_pm1b_cnt_blk, f.pm1b_cnt_blk, f.pm1_cnt_len);
		out->pm_tmr = pick(f.x_pm_tmr_blk, f.pm_tmr_blk, f.pm_tmr_len);
	}
	return NULL;
}
