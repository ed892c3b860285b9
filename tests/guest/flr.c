/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: test_slow_function takes its PCI function away
 * NOT ON bochs: the same
 *
 * A guest whose PCI function, at=BUS:DEVFN as a number, does not answer any
 * more: then it asks for a function level reset, and says so if it ever gets
 * beyond that.
 */
#include "pci.h"
#include "tiny.h"

#define DEVICE_CONTROL 8
#define START_FLR 0x8000u

void test_main(void)
{
	u32 bdf = (u32)option_number("at", 0), ids = pci_read(bdf, 0),
	    exp = pci_find_cap(bdf, PCI_CAP_EXPRESS), control;

	check(ids != ~0u && exp, "there is a function, and it is PCI Express");
	control = pci_read(bdf, exp + DEVICE_CONTROL);
	print("flr: has its function");
	while (pci_read(bdf, 0) == ids)
		;
	print("flr: asks for a reset");
	pci_write(bdf, exp + DEVICE_CONTROL, control | START_FLR);
	print("flr: goes on");
	for (;;)
		asm volatile("hlt");
}
