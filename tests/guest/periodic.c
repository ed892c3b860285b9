/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON bochs-svm: ticks are lost at 5 of the stops: docs/testing.md
 * FULL: new, not yet run often enough for every submission
 *
 * The periodic timer counts periods: not one more than have passed, whatever
 * keeps the guest, and after a stop one for all that it missed. The guest stops
 * itself: with interrupts off, and, where the command line says pause=MS, by a
 * pause of its VM (vmm/dev/board/debug_clock.c). exact=1: not one less either, on a
 * machine whose time does not depend on how busy its host is.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x72
/*
 * Of a clock of 1 MHz (CPUID 0x40000010 EBX, in kHz). On KVM the host's own interrupts come up to 4
 * ms late (testing.md).
 */
#define COUNT 2000
#define COUNT_ON_KVM 20000
/* by then the console has said all of the start: its NMIs would let the host take a tick in time */
#define PERIODS 50
#define STOPS 5
#define MASKED BIT(16)
#define PERIODIC BIT(17)
#define PAUSE_PORT 0x5f8

static u64 start, period;
static volatile u64 ticks, early;
static u64 lost;
static u64 skipped; /* periods that ended in a stop and whose tick must not come any more */

static u64 passed(u64 tsc)
{
	return (tsc - start) / period;
}

static void on_timer(struct trap_frame *f)
{
	u64 whole = passed(rdtsc());

	(void)f;
	ticks++;
	early += ticks + skipped > whole;
	apic_write(APIC_EOI, 0);
}

static void run(u64 periods)
{
	u64 until = passed(rdtsc()) + periods;

	irq_on();
	while (passed(rdtsc()) < until)
		asm volatile("pause" : : : "memory");
	irq_off();
}

static bool between(u64 tsc)
{
	return (tsc - start) % period > period / 4 && (tsc - start) % period < period / 2;
}

/* Turns interrupts off between two ticks: the moment. */
static u64 quiet(void)
{
	u64 now;

	do {
		run(1);
		irq_on();
		while (!between(rdtsc()))
			asm volatile("pause" : : : "memory");
		irq_off();
		now = rdtsc();
	} while (!between(now));
	lost += ticks + skipped < passed(now);
	return now;
}

/* pending: how many ticks may come for all the periods that end in the stop. */
static void stop(u64 periods, u64 ms, u64 pending)
{
	u64 before = quiet(), now, ended;

	if (ms)
		outl(PAUSE_PORT, (u32)ms);
	do
		now = rdtsc();
	while (passed(now) < passed(before) + periods || !between(now));
	ended = passed(now) - passed(before);
	skipped += ended > pending ? ended - pending : 0;
	run(3);
}

void test_main(void)
{
	struct cpuid rate = cpuid(0x40000010, 0);
	bool kvm = on_kvm(), late_by_two = on_bochs() && !kvm, slow;
	u32 count = kvm ? COUNT_ON_KVM : COUNT;
	u64 ms = option_number("pause", 0), exact = option_number("exact", on_bochs()), end;

	period = (u64)count * rate.eax / (rate.ebx ? rate.ebx : 1);
	if (!check(period, "no rate in CPUID 0x40000010"))
		return;
	apic_enable();
	trap_handlers[VECTOR] = on_timer;
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	do {
		apic_write(APIC_LVT_TIMER, MASKED | PERIODIC | VECTOR);
		irq_on();
		asm volatile("pause" : : : "memory");
		irq_off();
		ticks = early = 0; /* of a first try that took too long */
		start = rdtsc();
		apic_write(APIC_TIMER_INIT, count);
		slow = rdtsc() - start > period / 8;
		apic_write(APIC_LVT_TIMER, PERIODIC | VECTOR);
	} while (slow || rdtsc() - start > period / 2);
	run(PERIODS);
	/*
	 * One tick is pending when interrupts come on. A second one comes behind it
	 * where the host's own timer was late: by chance on a busy build host; on
	 * Bochs each time, since after an entry with IF = 0 no interrupt ends the
	 * guest there before it sets IF; to KVM's host an NMI comes each 4 ms.
	 */
	for (u64 i = 1; i <= STOPS; i++)
		stop(2 * i, 0, exact && !late_by_two ? 1 : 2);
	for (u64 i = 0; ms && i < STOPS; i++)
		stop(0, ms, exact ? 1 : 2);
	end = quiet();
	check(early == 0, "%lu of %lu ticks before the end of their period", early, ticks);
	if (exact)
		check(lost == 0, "at %lu of the stops a tick had been lost", lost);
	print("periodic: ticks=%lu skipped=%lu passed=%lu", ticks, skipped, passed(end));
}
