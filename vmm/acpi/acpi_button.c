/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's power button, a control method's (ACPI 6.4, 4.8.3.2.2). Its press is an edge of an
 * interrupt of its own, of which the device ACPI0013 (generic event device, 5.6.9) makes the
 * notification that the button's driver waits for. And the pin by which a press wakes a guest that
 * sleeps (wake_pin.c), of which nothing else follows: _E00 is there because a pin without it is not
 * taken.
 */
#include "vmm/acpi/acpi_build.h"

#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

/* clang-format off */
static const u8 button[] = {
	/* Scope (\_SB) { Device (PWRB) { Name (_HID, EisaId ("PNP0C0C")) } */
	0x10, 0x4f, 0x04, '_', 'S', 'B', '_', 0x5b, 0x82, 0x0f, 'P', 'W', 'R', 'B',
	0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x0c, 0x0c,
	/* Device (GED0) { Name (_HID, "ACPI0013") */
	0x5b, 0x82, 0x36, 'G', 'E', 'D', '0', 0x08, '_', 'H', 'I', 'D', 0x0d, 'A', 'C', 'P', 'I',
	'0', '0', '1', '3', 0x00,
	/*
	 * Name (_CRS, ResourceTemplate () { Interrupt (ResourceConsumer, Edge, ActiveHigh,
	 * Exclusive) { GUEST_BUTTON_GSI } })
	 */
	0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b,
	0x89, 0x06, 0x00, 0x03, 0x01, GUEST_BUTTON_GSI, 0x00, 0x00, 0x00, 0x79, 0x00,
	/* Method (_EVT, 1) { Notify (PWRB, 0x80) } */
	0x14, 0x0d, '_', 'E', 'V', 'T', 0x01, 0x86, 'P', 'W', 'R', 'B', 0x0a, 0x80,
};
/* clang-format on */

#define DWORD(n) (n) & 0xff, (n) >> 8 & 0xff, (n) >> 16 & 0xff, (n) >> 24 & 0xff

/* clang-format off */
static const u8 pin[] = {
	/* Scope (\_SB) { Device (GPO0) { Name (_HID, "INT33FC") Name (_UID, "2") */
	0x10, 0x4a, 0x07, '_', 'S', 'B', '_', 0x5b, 0x82, 0x42, 0x07, 'G', 'P', 'O', '0',
	0x08, '_', 'H', 'I', 'D', 0x0d, 'I', 'N', 'T', '3', '3', 'F', 'C', 0x00, 0x08, '_', 'U',
	'I', 'D', 0x0d, '2', 0x00,
	/*
	 * Name (_CRS, ResourceTemplate () { Memory32Fixed (ReadWrite, GUEST_WAKE_BASE,
	 * GUEST_WAKE_SIZE)
	 */
	0x08, '_', 'C', 'R', 'S', 0x11, 0x1a, 0x0a, 0x17,
	0x86, 0x09, 0x00, 0x01, DWORD(GUEST_WAKE_BASE), DWORD(GUEST_WAKE_SIZE),
	/* Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { GUEST_WAKE_GSI } }) */
	0x89, 0x06, 0x00, 0x03, 0x01, GUEST_WAKE_GSI, 0x00, 0x00, 0x00, 0x79, 0x00,
	/*
	 * Name (_AEI, ResourceTemplate () { GpioInt (Edge, ActiveHigh, ExclusiveAndWake, PullNone,
	 * 0, "\\_SB.GPO0") { 0 } })
	 */
	0x08, '_', 'A', 'E', 'I', 0x11, 0x28, 0x0a, 0x25,
	0x8c, 0x20, 0x00, 0x01, 0x00, 0x01, 0x00, 0x11, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x17,
	0x00, 0x00,
	0x19, 0x00, 0x23, 0x00, 0x00, 0x00, 0x00, 0x00, '\\', '_', 'S', 'B', '.', 'G', 'P', 'O',
	'0', 0x00, 0x79, 0x00,
	/* Method (_E00) { Noop } */
	0x14, 0x07, '_', 'E', '0', '0', 0x00, 0xa3,
};
/* clang-format on */

void acpi_put_button(struct aml *a)
{
	aml_bytes(a, button, sizeof(button));
	aml_bytes(a, pin, sizeof(pin));
}
