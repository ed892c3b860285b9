/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=crash
 *
 * The page tables lie where there is no RAM: as idt_mmio, for the CPU's walk.
 */
#include "tiny.h"

void test_main(void)
{
	check(read_cr3() < 32 << 20, "CR3 is %#lx", read_cr3());
	result();
	write_cr3(0xd0000000);
	outb(0x80, 0);
}
