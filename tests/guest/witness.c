/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: test_direct.py starts it, beside a guest that restarts
 * NOT ON bochs: the same
 *
 * A guest that hears what it has not asked for: its timer's interrupts come one
 * for each time that it was started, every other vector and NMI is somebody
 * else's. Says how many there were, for ever.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x40
#define SAYS 500 /* ticks between two lines */

static volatile u64 started, ticks, foreign;

static void on_tick(struct trap_frame *)
{
	ticks++;
	check(ticks == started, "%lu ticks of a timer that was started %lu times", ticks, started);
	apic_write(APIC_EOI, 0);
}

static void on_foreign(struct trap_frame *f)
{
	foreign++;
	check(false, "vector %lu is not this guest's", f->vector);
	if (f->vector != VEC_NMI)
		apic_write(APIC_EOI, 0);
}

void test_main(void)
{
	u32 period = (u32)option_number("period", 20000);

	/* Not those of a guest that goes astray. */
	for (unsigned v = 15; v < 256; v++)
		if (v != VEC_AC)
			trap_handlers[v] = on_foreign;
	trap_handlers[VEC_NMI] = on_foreign;
	trap_handlers[VECTOR] = on_tick;
	x2apic_enable();
	apic_enable();
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR);
	for (;;) {
		if (ticks == started) {
			if (started++ % SAYS == 0)
				print("witness: ticks=%lu foreign=%lu", ticks, foreign);
			apic_write(APIC_TIMER_INIT, period);
		}
		asm volatile("sti; hlt; cli" : : : "memory");
	}
}
