/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * NOT ON qemu: TCG aborts, "bql_lock_impl: assertion failed", when a delivery hits a data breakpoint
 *
 * CPU 1 lets the delivery of #DB hit a data breakpoint on its own stack, so
 * that #DB follows #DB and no instruction runs any more (CVE-2015-8104). CPU 0
 * goes on, and its end of the VM reaches CPU 1.
 */
#include "apic.h"
#include "tiny.h"

static volatile bool about;
static volatile unsigned handled;

static void on_debug(struct trap_frame *f)
{
	(void)f;
	handled = handled + 1;
}

static void endless(void *arg)
{
	u64 where = (u64)(this_cpu()->ist_stack + sizeof(this_cpu()->ist_stack)) - 8,
	    dr7 = 0x400 | 1 | 1 << 16 | 2 << 18;

	(void)arg;
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"(where), "r"(dr7));
	about = true;
	for (;;)
		asm volatile("pushfq; orl $0x100, (%%rsp); popfq; nop" : : : "memory", "cc");
}

void test_main(void)
{
	smp_start();
	idt_set(VEC_DB, 0, 1);
	trap_handlers[VEC_DB] = on_debug;
	smp_run(1, endless, NULL);
	while (!about)
		cpu_relax();
	for (unsigned i = 0; i < 20000; i++)
		check(cpuid(0, 0).eax != 0, "CPU 0 goes on");
	/* Else it was not endless, and nothing was tested. */
	check(!handled, "CPU 1 came to its handler %u times", handled);
}
