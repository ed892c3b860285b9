/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guest's DSDT says of functions that may go while it runs: virtual ones, whose physical
 * one is another VM's. Each has a node, so that the guest looks for it when it is told of a change
 * at its root bus (ACPI 6.4, 5.6.6, bus check), which a generic event device (5.6.9) does. One that
 * reads as ones then is taken for pulled out.
 */
#include <margay/pci.h>
#include <margay/string.h>

#include "vmm/acpi/acpi_build.h"
#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

enum { ZERO = 0x00, METHOD = 0x14, NOTIFY = 0x86 };

/* clang-format off */
static const u8 event[] = {
	/* Name (_HID, "ACPI0013") Name (_UID, One) */
	0x08, '_', 'H', 'I', 'D', 0x0d, 'A', 'C', 'P', 'I', '0', '0', '1', '3', 0x00, 0x08, '_',
	'U', 'I', 'D', 0x01,
	/*
	 * Name (_CRS, ResourceTemplate () { Interrupt (ResourceConsumer, Edge, ActiveHigh,
	 * Exclusive) { GUEST_VFS_GSI } })
	 */
	0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b, 0x89, 0x06, 0x00, 0x03, 0x01,
	GUEST_VFS_GSI, 0x00, 0x00, 0x00, 0x79, 0x00,
};
/* clang-format on */

/* As acpi_pci.c names a root bus and, with 'V' and 'F', a function. */
static void set_name(char name[5], char first, char second, u8 number)
{
	static const char digit[] = "0123456789ABCDEF";

	memcpy(name, (char[]){ first, second, digit[number >> 4], digit[number & 15], 0 }, 5);
}

/* Does some function of this root's may go? */
static bool concerns(const struct acpi_guest *in, u8 bus)
{
	for (unsigned i = 0; i < in->nr_vfs; i++)
		if (in->vf[i].bus == bus)
			return true;
	return false;
}

static void put_event(struct aml *a, const struct acpi_guest *in)
{
	/*
	 * The method's PkgLength, in two bytes (20.2.4), its name and flags; then a notification of
	 * 6 bytes for each root.
	 */
	unsigned size = 2 + 4 + 1;
	char name[5];

	for (unsigned i = 0; i < in->nr_roots; i++)
		size += concerns(in, in->roots[i].bus) ? 6 : 0;
	aml_device(a, "GED1");
	aml_bytes(a, event, sizeof(event));
	aml_bytes(a, (u8[]){ METHOD, 0x40 | (size & 15), (u8)(size >> 4), '_', 'E', 'V', 'T', 1 },
		  8);
	for (unsigned i = 0; i < in->nr_roots; i++) {
		if (!concerns(in, in->roots[i].bus))
			continue;
		set_name(name, 'P', 'C', in->roots[i].bus);
		aml_put(a, NOTIFY, 1);
		aml_bytes(a, name, 4);
		aml_put(a, ZERO, 1);
	}
	aml_end(a);
}

void acpi_put_vfs(struct aml *a, const struct acpi_guest *in)
{
	char name[5];

	for (unsigned i = 0; i < in->nr_vfs; i++) {
		u8 devfn = in->vf[i].devfn;

		set_name(name, 'P', 'C', in->vf[i].bus);
		aml_scope(a, name);
		set_name(name, 'V', 'F', devfn);
		aml_device(a, name);
		aml_name_integer(a, "_ADR", PCI_DEVICE(devfn) << 16 | (devfn & 7));
		aml_end(a);
		aml_end(a);
	}
	if (in->nr_vfs)
		put_event(a, in);
}
