/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 *
 * A second CPU starts by INIT and SIPI and runs a C function; each CPU takes
 * its own exceptions.
 */
#include "apic.h"
#include "tiny.h"

static volatile unsigned ran;

static void work(void *arg)
{
	ran = *(unsigned *)arg + this_cpu()->id;
	check(TRY("ud2", , ) == VEC_UD, "CPU 1 takes its #UD");
	check(apic_read(APIC_ID) >> 24 == 1, "APIC ID register %#x", apic_read(APIC_ID));
}

void test_main(void)
{
	unsigned value = 41, n = smp_start();

	check(n == 2, "%u CPUs", n);
	smp_run(1, work, &value);
	smp_wait(1);
	check(ran == 42, "CPU 1 ran: %u", ran);
}
