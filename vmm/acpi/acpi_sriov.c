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

#define BUS_CHECK 0 /* a notification's value: 5.6.6 */

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
	char name[5];

	aml_device(a, "GED1");
	aml_name_text(a, "_HID", "ACPI0013");
	aml_name_integer(a, "_UID", 1);
	aml_crs_begin(a, "_CRS");
	aml_edge(a, GUEST_VFS_GSI);
	aml_crs_end(a);
	aml_method(a, "_EVT", 1);
	for (unsigned i = 0; i < in->nr_roots; i++) {
		if (!concerns(in, in->roots[i].bus))
			continue;
		set_name(name, 'P', 'C', in->roots[i].bus);
		aml_notify(a, name, BUS_CHECK);
	}
	aml_end(a);
	aml_end(a);
}

void acpi_put_sriov(struct aml *a, const struct acpi_guest *in)
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
