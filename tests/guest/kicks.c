/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * CMDLINE: kicks=300 flushes=500
 * NOT ON nested-vtx: as nmi.c
 *
 * Kicks, none lost: each interrupt, NMI and second-level flush from CPU 0 makes the hypervisor kick
 * CPU 1 out of whatever it does, and the next one follows only when CPU 1 has shown that it
 * arrived. CPU 1 executes CPUID all the time, so that kicks meet it at every point of an exit; or
 * spins with interrupts off, where nothing but the kick ever ends guest mode. A lost kick is a
 * guest that never comes to its end. test_tiny.py's full tier does it a million times to each loop:
 * on QEMU by flushes; with relax=1 both loops have a PAUSE, at which QEMU with one thread for all
 * CPUs goes on to the next one. On Bochs by NMIs, with x2apic=1: a tenth of the time of a flush.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x41
#define MSR_X2APIC_ICR 0x830
#define WINDOW_PORT 0xf8
#define PLACE 0xd0000u /* page number */

static volatile u64 interrupts, nmis;
static volatile bool stop, ready;
static bool relax, x2apic;

static void on_interrupt(struct trap_frame *f)
{
	(void)f;
	interrupts++;
	apic_write(APIC_EOI, 0);
}

static void on_nmi(struct trap_frame *f)
{
	(void)f;
	nmis++;
}

static void cpuid_loop(void *arg)
{
	(void)arg;
	if (x2apic)
		x2apic_enable();
	irq_on();
	ready = true;
	while (!stop) {
		cpuid(0, 0);
		if (relax)
			cpu_relax();
	}
	irq_off();
}

/* `cli; jmp $` but for the word that ends it: no exit of its own. */
static void spin(void *arg)
{
	(void)arg;
	irq_off();
	ready = true;
	while (!stop)
		if (relax)
			cpu_relax();
}

static void ipi(u32 icr)
{
	if (x2apic)
		/* apic_ipi() asks for the mode, which is an exit, too */
		wrmsr(MSR_X2APIC_ICR, 1ull << 32 | icr);
	else
		apic_ipi(1, icr);
}

static void send(volatile u64 *count, u32 icr, u64 n, const char *what)
{
	u64 before = *count;

	for (u64 i = 1; i <= n; i++) {
		ipi(icr | ICR_ASSERT);
		while (*count < before + i)
			cpu_relax();
	}
	check(*count == before + n, "%lu of %lu %s arrived", *count - before, n, what);
}

/* Each move waits inside the hypervisor until CPU 1 has been kicked and has flushed. */
static void flush(u64 n, const char *what)
{
	for (u64 i = 0; i < n; i++)
		outl(WINDOW_PORT, PLACE + i % 2);
	check(inl(WINDOW_PORT) == PLACE + (n - 1) % 2, "%lu flushes %s", n, what);
}

static void start(void (*fn)(void *arg))
{
	stop = ready = false;
	smp_run(1, fn, NULL);
	while (!ready)
		cpu_relax();
}

static void end(void)
{
	stop = true;
	smp_wait(1);
}

void test_main(void)
{
	u64 n = option_number("kicks", 1000), flushes = option_number("flushes", 1000),
	    several = option_number("nmis", n);

	relax = option_number("relax", 0);
	x2apic = option_number("x2apic", 0);
	check(smp_start() == 2, "two CPUs");
	check(!x2apic || x2apic_enable(), "x2APIC");
	trap_handlers[VECTOR] = on_interrupt;
	trap_handlers[VEC_NMI] = on_nmi;
	start(cpuid_loop);
	send(&interrupts, ICR_FIXED | VECTOR, n, "interrupts to a CPUID loop");
	send(&nmis, ICR_NMI, several, "NMIs to a CPUID loop");
	flush(flushes, "of a CPUID loop");
	end();
	start(spin);
	send(&nmis, ICR_NMI, several, "NMIs to a loop with interrupts off");
	flush(flushes, "of a loop with interrupts off");
	end();
}
