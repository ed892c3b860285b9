/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=crash
 * NOT ON qemu: needs an image with DEBUG_FAULT: tests/system/test_trapped.py
 * NOT ON bochs: needs an image with DEBUG_FAULT: tests/system/test_trapped.py
 *
 * Has the hypervisor meet an exception, with a GS base of the guest's own; deep=1: overflow its
 * stack. The node is over then.
 */
#include "tiny.h"

#define TRAP_MSR 0x4d475f00

void test_main(void)
{
	check(on_margay(), "not under Margay");
	result();
	if (option("deep"))
		wrmsr(TRAP_MSR, 1);
	else
		(void)rdmsr(TRAP_MSR);
	print("the guest goes on");
}
