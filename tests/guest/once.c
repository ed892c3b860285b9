/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: loops=100000
 *
 * An interrupt is delivered once, also when its handler (IF = 0, no exit)
 * outlasts a time slice of the emulator: QEMU enters the handler again then
 * if SVM injects the interrupt as an event. test_tiny.py runs it with more
 * loops and -icount, where the PIT ends a slice every 55 million instructions.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x71

static volatile unsigned entered, depth;
static u64 loops;

static void on_interrupt(struct trap_frame *f)
{
	u64 left = loops;

	(void)f;
	entered++;
	/* Once inside is enough: a wrong delivery inside the second would never end. */
	if (depth++ == 0)
		asm volatile("1: dec %0\n\t"
			     "jnz 1b" : "+r"(left));
	if (--depth == 0)
		apic_write(APIC_EOI, 0);
}

void test_main(void)
{
	loops = option_number("loops", 100000);
	apic_enable();
	trap_handlers[VECTOR] = on_interrupt;
	irq_on();
	apic_ipi(0, ICR_SELF | VECTOR);
	irq_off();
	check(entered == 1, "an interrupt was delivered %u times", entered);
}
