/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's panic port, by which its kernel says that it panics: a node of the DSDT. */
#include "vmm/acpi/acpi_build.h"

#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

/* clang-format off */
static const u8 pvpanic[] = {
	/* Scope (\_SB) { Device (PEVT) { */
	0x10, 0x2f, '\\', '_', 'S', 'B', '_', 0x5b, 0x82, 0x27, 'P', 'E', 'V', 'T',
	/* Name (_HID, "QEMU0001") Name (_CRS, ...) */
	0x08, '_', 'H', 'I', 'D', 0x0d, 'Q', 'E', 'M', 'U', '0', '0', '0', '1', 0x00,
	0x08, '_', 'C', 'R', 'S', AML_IO_ONLY(GUEST_PVPANIC_PORT, 1),
};
/* clang-format on */

void acpi_put_pvpanic(struct aml *a)
{
	aml_bytes(a, pvpanic, sizeof(pvpanic));
}
