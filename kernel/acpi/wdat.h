/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the table WDAT (Microsoft, "Hardware Watchdog Timers Design Specification"), by
 * which a board's maker says how its watchdog is asked and told. Only what asks is taken.
 */
#ifndef KERNEL_ACPI_WDAT_H
#define KERNEL_ACPI_WDAT_H

#include <margay/acpi.h>

struct wdat_info {
	bool enabled; /* else the system is not meant to use it */
	u32 tick_ms;  /* of a count */
	/* How a register says something; mask 0: none does. */
	struct wdat_question {
		struct acpi_gas reg;
		u32 value; /* yes, where that is the answer */
		u32 mask;
	} running, stopped, left;
};
const char *wdat_read(const void *table, size_t size, struct wdat_info *out);

#endif
