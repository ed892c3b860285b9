/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: timers=50
 *
 * One-shot timers: each comes once, never early. How late the median and the
 * last of them came is printed, in ticks of the TSC, for test_storm.py.
 * sleep=1: it waits for them in HLT.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x71
#define COUNT 1000 /* of a clock of 1 MHz (CPUID 0x40000010 EBX, in kHz) */
#define MOST 1000

static volatile u64 came;
static u64 late[MOST];

static void on_timer(struct trap_frame *f)
{
	(void)f;
	came = rdtsc();
	apic_write(APIC_EOI, 0);
}

static void wait(bool sleep)
{
	irq_off();
	while (sleep && !came)
		asm volatile("sti; hlt; cli" : : : "memory");
	irq_on();
	while (!came)
		asm volatile("pause" : : : "memory");
	irq_off();
}

void test_main(void)
{
	bool sleep = option_number("sleep", 0);
	struct cpuid rate = cpuid(0x40000010, 0);
	u64 timers = option_number("timers", 50), early = 0,
	    expected = (u64)COUNT * rate.eax / (rate.ebx ? rate.ebx : 1);

	if (!check(timers <= MOST && expected, "%lu timers of %lu ticks", timers, expected))
		return;
	apic_enable();
	trap_handlers[VECTOR] = on_timer;
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR);
	print("timer: begins");
	for (u64 i = 0; i < timers; i++) {
		u64 start = rdtsc(), at;

		came = 0;
		apic_write(APIC_TIMER_INIT, COUNT);
		wait(sleep);
		early += came - start < expected;
		/* Sorted as they come. */
		for (at = i; at && late[at - 1] > came - start - expected; at--)
			late[at] = late[at - 1];
		late[at] = came - start - expected;
	}
	check(early == 0, "%lu timers came early", early);
	print("timer: late median=%lu last=%lu of %lu", late[timers / 2], late[timers - 1], timers);
}
