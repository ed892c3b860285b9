/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=crash
 * NOT ON qemu: needs an image with DEBUG_FAULT: tests/system/test_lost_cpu.py
 * NOT ON bochs: needs an image with DEBUG_FAULT: tests/system/test_lost_cpu.py
 *
 * Has the hypervisor answer no kick on the last of its CPUs, for seconds=; with another one, that
 * moves a page of the physical address space away, for which all CPUs are waited for. With icr= the
 * last one has sent an interrupt by its own ICR before (ipi = direct), and nobody waits for it.
 */
#include "apic.h"
#include "tiny.h"

#define DEAF_PORT 0x5e8
#define WINDOW_PORT 0xf8
#define PLACE 0xd0000000u

static volatile bool going;

static void deaf(void *)
{
	/* The first one opens the register, the second goes by it. */
	for (unsigned i = 0; i < 2 && option("icr"); i++)
		wrmsr(0x830, 0x51 | ICR_ASSERT);
	going = true;
	outl(DEAF_PORT, (u32)option_number("seconds", 1));
	for (;;)
		asm volatile("pause");
}

void test_main(void)
{
	unsigned n = smp_start();

	print("deaf: %u CPUs", n);
	if (n == 1)
		deaf(NULL);
	if (!option("icr"))
		outl(WINDOW_PORT, PLACE / 4096);
	smp_run(n - 1, deaf, NULL);
	while (!going)
		asm volatile("pause");
	/* It is on its way into the exit, or there: a moment later it is there. */
	for (volatile unsigned i = 0; i < 1000000; i++)
		;
	if (!option("icr"))
		outl(WINDOW_PORT, PLACE / 4096 + 1);
	print("deaf: the guest goes on");
	for (;;)
		asm volatile("pause");
}
