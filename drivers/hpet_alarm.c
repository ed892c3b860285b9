/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One comparator of the HPET as a one-shot timer (IA-PC HPET 1.0a, 2.3.8 and 2.3.9). All of them
 * compare 32 bits of the counter when they are told to, and for equality: one that is written too
 * late would be a whole round late. In this mode they interrupt as well when the counter's low half
 * wraps.
 */
#include "arch/x86_64/cpu/insn.h"
#include "drivers/hpet.h"

#define CAPABILITIES 0x000
#define COUNTER 0x0f0
#define TIMER(n) (0x100 + 0x20 * (n)) /* configuration; route capability in its upper half */
#define COMPARATOR 8                  /* behind it */
#define LAST_TIMER(cap) ((cap) >> 8 & 0x1f)
#define T_EDGE_KEPT (~0x7f4eu) /* not: level, enabled, periodic, accumulator, 32 bits, route, FSB */
#define T_ENABLE BIT(2)
#define T_32_BITS BIT(8)
#define T_ROUTE_SHIFT 9
/*
 * Ticks that chipsets may need till a written comparator is the one that counts; Linux knows of
 * some that need many.
 */
#define LATE 128u

static volatile u8 *timer;
static u32 stopped; /* its configuration while it is not armed */
static u32 start, wait; /* of what is armed: the counter then, ticks from it; 0: nothing is */
static bool owed;

static u32 now(void)
{
	return mmio_read32(hpet_registers + COUNTER);
}

/* At its time, or when the counter wrapped. */
static bool has_passed(void)
{
	u32 at = now();

	return wait && (at - start >= wait || at < start);
}

u32 hpet_alarm_inputs(unsigned n)
{
	return n > LAST_TIMER(mmio_read32(hpet_registers + CAPABILITIES))
		       ? 0
		       : mmio_read32(hpet_registers + TIMER(n) + 4);
}

void hpet_alarm_choose(unsigned n, unsigned input)
{
	timer = hpet_registers + TIMER(n);
	stopped = (mmio_read32(timer) & T_EDGE_KEPT) | T_32_BITS | input << T_ROUTE_SHIFT;
}

void hpet_alarm_stop(void)
{
	mmio_write32(timer, stopped);
	/* Its interrupt may still be on the way. */
	owed |= has_passed();
	wait = 0;
}

void hpet_alarm_arm(u32 ticks)
{
	for (ticks = MAX(ticks, 2 * LATE);; ticks *= 2) {
		hpet_alarm_stop();
		start = now();
		wait = ticks;
		mmio_write32(timer + COMPARATOR, start + wait);
		mmio_write32(timer, stopped | T_ENABLE);
		if (now() - start + LATE < wait)
			return;
	}
}

bool hpet_alarm_asked(void)
{
	bool asked = owed | has_passed();

	owed = false;
	if (asked)
		wait = 0;
	return asked;
}
