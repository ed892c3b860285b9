/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=crash
 *
 * The IDT in the I/O APIC's registers. Hardware would read ones or a register
 * there and end in a triple fault; the hypervisor cannot carry out an access that
 * no instruction made, and ends the VM with a line that says so.
 */
#include "tiny.h"

void test_main(void)
{
	check(TRY("ud2", , ) == VEC_UD, "UD2 while the IDT is in RAM");
	result();
	idt_load((void *)0xfec00000, 0xfff);
	asm volatile("ud2");
}
