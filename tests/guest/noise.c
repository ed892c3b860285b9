/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * FULL: a benchmark's guest
 * CMDLINE: span=3000000
 *
 * What disturbs a computing CPU: in a guest that sets no timer (hz=0), where
 * every detour is the machine's or the hypervisor's, and in one with a timer of
 * `hz` interrupts per `second` TSC ticks. The selfish-detour test reads the TSC
 * for `span` ticks and notes gaps much longer than the loop; the fixed-work
 * quantum times the same work again and again. Between markers 1 and 2, so that
 * tests/bench can count exits, too. Begins after `settle` ticks, by when a line
 * has taken what the boot has to say. A second CPU is left asleep.
 */
#include "apic.h"
#include "tiny.h"
#include "tests/bench/marker.h"

#define VECTOR 0x41
#define PERIODIC BIT(17)
#define WORK_LOOPS 20000
#define SAMPLES 100
#define COUNTS 1000000 /* of the APIC's timer, to see how fast it is */

static volatile unsigned interrupts;
/* asked once: RDMSR of APIC_BASE, by which apic_write() asks each time, is an exit */
static bool x2apic;

static void interrupt(struct trap_frame *f)
{
	(void)f;
	interrupts++;
	if (x2apic)
		wrmsr(0x80b, 0);
	else
		*(volatile u32 *)(LAPIC_BASE + APIC_EOI) = 0;
}

static void start_timer(u64 ticks)
{
	u64 start;

	trap_handlers[VECTOR] = interrupt;
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR);
	interrupts = 0;
	start = rdtsc();
	apic_write(APIC_TIMER_INIT, COUNTS);
	/*
	 * Not by the count: under -icount QEMU ends where it is read by an MSR
	 * (tests/bench/emulate.py).
	 */
	while (!interrupts)
		;
	apic_write(APIC_LVT_TIMER, PERIODIC | VECTOR);
	apic_write(APIC_TIMER_INIT, (u32)(ticks * COUNTS / (rdtsc() - start)));
}

static void detours(unsigned hz, u64 span)
{
	u64 least = ~0ull, lost = 0, count = 0, start, last, now;
	unsigned taken;

	last = rdtsc();
	for (unsigned i = 0; i < 1000; i++) {
		now = rdtsc();
		least = now - last < least ? now - last : least;
		last = now;
	}
	MARKER(1);
	interrupts = 0;
	start = last = rdtsc();
	do {
		now = rdtsc();
		if (now - last > 4 * least) {
			count++;
			lost += now - last - least;
		}
		last = now;
	} while (now - start < span);
	taken = interrupts;
	MARKER(2);
	print("noise: hz=%u detours=%lu lost=%lu span=%lu interrupts=%u", hz, count, lost,
	      now - start, taken);
	/*
	 * One may come before the first reading, and one behind the last. KVM's timer makes up for
	 * each tick for which its guest was not there in time: several come in one detour.
	 */
	check((count + 2 >= taken || (count && on_kvm() && option_number("direct", 0))) &&
		      (hz || !taken),
	      "%u interrupts and %lu detours", taken, count);
}

static void fixed_work(unsigned hz)
{
	u64 best = ~0ull, worst = 0, sum = 0;

	for (unsigned i = 0; i < SAMPLES; i++) {
		u64 start = rdtsc();

		for (unsigned n = 0; n < WORK_LOOPS; n++)
			asm volatile("" : : : "memory");
		start = rdtsc() - start;
		best = start < best ? start : best;
		worst = start > worst ? start : worst;
		sum += start;
	}
	print("noise: hz=%u best=%lu mean=%lu worst=%lu", hz, best, sum / SAMPLES, worst);
}

void test_main(void)
{
	u64 span = option_number("span", 3000000), second = option_number("second", 1000000000);
	u64 settled = rdtsc() + option_number("settle", 0);

	/* A BIOS leaves the PIT's interrupt open. */
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
	x2apic = x2apic_enable();
	apic_enable();
	irq_on();
	while (rdtsc() < settled)
		;
	detours(0, span);
	fixed_work(0);
	start_timer(second / 250);
	detours(250, span);
	fixed_work(250);
	apic_write(APIC_LVT_TIMER, BIT(16) | VECTOR);
	irq_off();
}
