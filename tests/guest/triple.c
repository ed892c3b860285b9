/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=triple-fault
 *
 * An exception without an IDT is a double, then a triple fault: the VM ends.
 */
#include "tiny.h"

void test_main(void)
{
	check(TRY("ud2", , ) == VEC_UD, "UD2 raises #UD while there is an IDT");
	result();
	idt_load(NULL, 0);
	asm volatile("ud2");
}
