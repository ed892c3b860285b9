/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * NOT ON nested-vtx: Bochs hands the blocking of virtual NMIs from one vCPU of a CPU to the next (docs/testing.md)
 *
 * NMIs to oneself: taken once each, in both rings; one that comes while another
 * is handled waits for the IRET; one ends HLT with interrupts off.
 */
#include "apic.h"
#include "tiny.h"

static volatile unsigned nmis, depth, deepest;
static volatile bool again, waiting;
static bool x2apic; /* whose registers ring 3 does not reach */

static void send(void)
{
	/* ring 3 may not ask an MSR for the mode */
	volatile u32 *apic = (volatile u32 *)LAPIC_BASE;

	if (x2apic) {
		apic_ipi(0, ICR_NMI | ICR_ASSERT);
		return;
	}
	apic[APIC_ICR2 / 4] = 0;
	apic[APIC_ICR / 4] = ICR_NMI | ICR_ASSERT;
}

static void on_nmi(struct trap_frame *f)
{
	(void)f;
	nmis = nmis + 1;
	depth = depth + 1;
	if (depth > deepest)
		deepest = depth;
	if (again) {
		again = false;
		send();
		/* Exits in between change nothing. */
		for (unsigned i = 0; i < 10; i++)
			cpuid(0, 0);
	}
	depth = depth - 1;
}

static void settle(unsigned want)
{
	for (unsigned i = 0; i < 1000 && nmis < want; i++)
		cpu_relax();
}

static void ring3(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 10; i++) {
		unsigned before = nmis;

		send();
		settle(before + 1);
		check(nmis == before + 1, "NMI %u in ring 3: %u taken", i, nmis - before);
	}
}

/* CPU 1: NMIs to CPU 0 until that has woken. */
static void waker(void *arg)
{
	(void)arg;
	while (waiting) {
		apic_ipi(0, ICR_NMI | ICR_ASSERT);
		for (unsigned i = 0; i < 100; i++)
			cpu_relax();
	}
}

void test_main(void)
{
	trap_handlers[VEC_NMI] = on_nmi;
	x2apic = x2apic_on();
	smp_start();
	for (unsigned i = 0; i < 100; i++) {
		unsigned before = nmis;

		send();
		settle(before + 1);
		check(nmis == before + 1, "NMI %u: %u taken", i, nmis - before);
	}
	check(x2apic || user_run(ring3, NULL) == NO_TRAP, "ring 3 came to its end");
	nmis = deepest = 0;
	again = true;
	send();
	settle(2);
	check(nmis == 2 && deepest == 1, "one in another's handler: %u taken, %u deep", nmis,
	      deepest);
	nmis = 0;
	waiting = true;
	smp_run(1, waker, NULL);
	asm volatile("cli; hlt" : : : "memory");
	waiting = false;
	smp_wait(1);
	check(nmis >= 1 && !(read_rflags() & RFLAGS_IF), "an NMI ends CLI; HLT");
}
