/* SPDX-License-Identifier: GPL-2.0-only */
/* What the firmware says, as it was read: for the hardware check's dump. */
#include "kernel/acpi/acpi.h"

/* The root pointer, the list, the tables, the DSDT, whatever their checksums. */
static struct acpi_piece noted[XSDT_MAX + 3];
static unsigned nr_noted;

void acpi_note(const void *p, size_t size)
{
	if (nr_noted < ARRAY_SIZE(noted))
		noted[nr_noted++] = (struct acpi_piece){ p, size };
}

const struct acpi_piece *acpi_noted(unsigned i)
{
	return i < nr_noted ? &noted[i] : NULL;
}
