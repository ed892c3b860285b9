/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's CMOS clock: a node of the DSDT. */
#include "vmm/acpi/acpi_build.h"

#include <margay/rtc.h>

#include "vmm/acpi/aml_build.h"

/* clang-format off */
static const u8 rtc[] = {
	/* Scope (\_SB) { Device (RTC0) { */
	0x10, 0x2a, '\\', '_', 'S', 'B', '_', 0x5b, 0x82, 0x22, 'R', 'T', 'C', '0',
	/* Name (_HID, EisaId ("PNP0B00")) Name (_CRS, ...) */
	0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x0b, 0x00,
	0x08, '_', 'C', 'R', 'S', AML_IO_ONLY(CMOS_INDEX, 2),
};
/* clang-format on */

void acpi_put_rtc(struct aml *a)
{
	aml_bytes(a, rtc, sizeof(rtc));
}
