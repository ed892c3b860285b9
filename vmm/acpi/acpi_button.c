/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's power button, a control method's (ACPI 6.4, 4.8.3.2.2). Its press is an edge of an interrupt of its own, of which the
 * device ACPI0013 (generic event device, 5.6.9) makes the notification that the button's driver waits for.
 */
#include "vmm/acpi/acpi_build.h"

#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

static const u8 button[] = {
	/* Scope (\_SB) { Device (PWRB) { Name (_HID, EisaId ("PNP0C0C")) } */
	0x10, 0x4f, 0x04, '_', 'S', 'B', '_', 0x5b, 0x82, 0x0f, 'P', 'W', 'R', 'B',
	0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x0c, 0x0c,
	/* Device (GED0) { Name (_HID, "ACPI0013") */
	0x5b, 0x82, 0x36, 'G', 'E', 'D', '0', 0x08, '_', 'H', 'I', 'D', 0x0d, 'A', 'C', 'P', 'I', '0', '0', '1', '3', 0x00,
	/* Name (_CRS, ResourceTemplate () { Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { GUEST_BUTTON_GSI } }) */
	0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b,
	0x89, 0x06, 0x00, 0x03, 0x01, GUEST_BUTTON_GSI, 0x00, 0x00, 0x00, 0x79, 0x00,
	/* Method (_EVT, 1) { Notify (PWRB, 0x80) } */
	0x14, 0x0d, '_', 'E', 'V', 'T', 0x01, 0x86, 'P', 'W', 'R', 'B', 0x0a, 0x80,
};

void acpi_put_button(struct aml *a)
{
	aml_bytes(a, button, sizeof(button));
}
