/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=crash
 * NOT ON qemu: needs an image with DEBUG_FAULT: tests/system/test_pci_hostile.py
 * NOT ON bochs: needs an image with DEBUG_FAULT: tests/system/test_pci_hostile.py
 *
 * Has the hypervisor meet device registers that are not there, by the defect of an image with
 * DEBUG_FAULT. The VM is over when the instruction is, whatever else the guest would do; write=1:
 * by an OUT.
 */
#include "tiny.h"

#define PORT 0x5fc

void test_main(void)
{
	check(option("write") || on_margay(), "not under Margay");
	result();
	if (option("write"))
		outw(PORT, 1);
	else
		(void)inl(PORT);
	print("the guest goes on");
}
