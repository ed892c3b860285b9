/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * FULL: a benchmark's guest
 * CMDLINE: loops=20
 *
 * What an interrupt from one CPU to another, which is halted, costs each of
 * them. tests/bench counts by CPU: between markers 1 and 2 what the sender
 * spends on sending (the first pair has nothing in it), between 3 and 4 all
 * that the receiver does, which is woken, handles, and halts again.
 */
#include "apic.h"
#include "tiny.h"
#include "tests/bench/marker.h"

#define VECTOR 0x41

static volatile unsigned came;
static volatile bool ready, stop;

static void on_interrupt(struct trap_frame *f)
{
	(void)f;
	came++;
	wrmsr(0x80b, 0);
}

static void receive(void *arg)
{
	(void)arg;
	x2apic_enable();
	apic_enable();
	ready = true;
	while (!stop)
		asm volatile("sti; hlt; cli" : : : "memory");
}

static void send(void)
{
	wrmsr(0x830, 1ull << 32 | ICR_ASSERT | VECTOR);
}

/*
 * Until it has come and the receiver, in all likelihood, halts again: if not, the next one finds it
 * awake.
 */
static void settle(unsigned before)
{
	while (came == before)
		cpu_relax();
	for (unsigned i = 0; i < 10000; i++)
		cpu_relax();
}

void test_main(void)
{
	unsigned loops = (unsigned)option_number("loops", 20);

	trap_handlers[VECTOR] = on_interrupt;
	if (!check(smp_start() == 2, "two CPUs") || !check(x2apic_enable(), "there is an x2APIC"))
		return;
	smp_run(1, receive, NULL);
	while (!ready)
		cpu_relax();
	print("ipi-costs: ready");
	MARKER(5); /* nobody needs to count before */
	send();
	settle(0);
	MARKER(1);
	MARKER(2);
	MARKER(3);
	for (unsigned i = 1; i <= loops; i++) {
		MARKER(1);
		send();
		MARKER(2);
		settle(i);
	}
	MARKER(4);
	check(came == loops + 1, "%u of %u interrupts", came, loops + 1);
	stop = true;
	send();
	smp_wait(1);
}
