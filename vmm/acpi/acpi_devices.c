/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guest's ACPI tables say of devices beside the console: nodes of the DSDT as iasl encodes
 * them, and the table WDAT.
 */
#include "vmm/acpi/acpi_build.h"

#include <margay/acpi.h>

#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

void acpi_put_devices(struct aml *a)
{
	acpi_put_pvpanic(a);
	acpi_put_rtc(a);
	acpi_put_button(a);
}

/*
 * Actions and instructions of Microsoft's "Hardware Watchdog Timers Design Specification", 3.3 and
 * 3.4.
 */
enum {
	RESET = 0x01,
	GET_LEFT = 0x04,
	GET_COUNT = 0x05,
	SET_COUNT = 0x06,
	IS_RUNNING = 0x08,
	START = 0x09,
	IS_STOPPED = 0x0a,
	STOP = 0x0b,
	GET_STATUS = 0x20,
	SET_STATUS = 0x21
};
enum { READ_VALUE, READ_COUNTDOWN, WRITE_VALUE, WRITE_COUNTDOWN };
#define WDAT_ENABLED 1
#define WDAT_ENTRY 24

static const struct {
	u8 action;
	u8 instruction;
	u8 reg;
	u8 value;
} step[] = {
	{ RESET, WRITE_VALUE, GUEST_WATCHDOG_FEED, 1 },
	{ GET_LEFT, READ_COUNTDOWN, GUEST_WATCHDOG_LEFT, 0 },
	{ GET_COUNT, READ_COUNTDOWN, GUEST_WATCHDOG_COUNT, 0 },
	{ SET_COUNT, WRITE_COUNTDOWN, GUEST_WATCHDOG_COUNT, 0 },
	{ IS_RUNNING, READ_VALUE, GUEST_WATCHDOG_RUN, 1 },
	{ START, WRITE_VALUE, GUEST_WATCHDOG_RUN, 1 },
	{ IS_STOPPED, READ_VALUE, GUEST_WATCHDOG_RUN, 0 },
	{ STOP, WRITE_VALUE, GUEST_WATCHDOG_RUN, 0 },
	{ GET_STATUS, READ_VALUE, GUEST_WATCHDOG_STATUS, 1 },
	{ SET_STATUS, WRITE_VALUE, GUEST_WATCHDOG_STATUS, 1 },
};

void acpi_put_wdat(struct aml *a, const struct acpi_guest *)
{
	/*
	 * Its length from here to the entries, no PCI function, the ticks, the most and the least
	 * count.
	 */
	static const u32 head[] = {
		32,           0xffff00ff,       0xff, GUEST_WATCHDOG_TICK_MS, GUEST_WATCHDOG_MAX, 1,
		WDAT_ENABLED, ARRAY_SIZE(step),
	};

	static_assert(sizeof(head) == 32, "its first word");
	for (unsigned i = 0; i < ARRAY_SIZE(head); i++)
		aml_put(a, head[i], 4);
	for (unsigned i = 0; i < ARRAY_SIZE(step); i++) {
		bool word = step[i].instruction == READ_COUNTDOWN ||
			    step[i].instruction == WRITE_COUNTDOWN;

		aml_put(a, step[i].action, 1);
		aml_put(a, step[i].instruction, 3);
		aml_put(a,
			ACPI_SPACE_IO | (word ? 16 : 8) << 8 |
				(u32)(word ? ACPI_ACCESS_WORD : ACPI_ACCESS_BYTE) << 24,
			4);
		aml_put(a, GUEST_WATCHDOG_PORT + step[i].reg, 8);
		aml_put(a, step[i].value, 4);
		aml_put(a, word ? 0xffff : 1, 4);
	}
}
