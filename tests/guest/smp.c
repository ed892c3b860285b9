/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 *
 * Each other CPU starts by INIT and SIPI and runs a C function; each takes its
 * own exceptions.
 */
#include "apic.h"
#include "tiny.h"

static volatile unsigned ran; /* the sum of who did */

static void work(void *arg)
{
	unsigned id = this_cpu()->id;

	check(TRY("ud2", , ) == VEC_UD, "CPU %u takes its #UD", id);
	check(apic_read(APIC_ID) >> (x2apic_on() ? 0 : 24) == id, "CPU %u: APIC ID register %#x",
	      id, apic_read(APIC_ID));
	ran += *(unsigned *)arg + id;
}

void test_main(void)
{
	unsigned value = 41, n = smp_start();

	check(n >= 2, "%u CPUs", n);
	for (unsigned i = 1; i < n; i++) {
		smp_run(i, work, &value);
		smp_wait(i);
	}
	check(ran == 41 * (n - 1) + n * (n - 1) / 2, "%u CPUs ran: %u", n - 1, ran);
}
