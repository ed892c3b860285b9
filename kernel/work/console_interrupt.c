/* SPDX-License-Identifier: GPL-2.0-only */
/* See console_interrupt.h. */
#include "kernel/work/console_interrupt.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/ioapic.h"
#include "kernel/console/console.h"
#include "kernel/console/serial.h"
#include "kernel/cpu/irq.h"
#include "kernel/cpu/nmi.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"
#include "kernel/work/nmi_try.h"

#define LOOK_MS 1u   /* between two looks at a line that is polled: 16 bytes take 1.4 ms */
#define IDLE_MS 20u  /* nobody who types notices */

bool console_polled;

static void ask(bool on)
{
	bool locked = serial_lock();

	serial_ask(on);
	serial_unlock(locked);
}

/*
 * As NMI: a guest that keeps interrupts off, or has the CPU's interrupts to itself, does not keep
 * the operator out.
 */
static bool request(s32 irq)
{
	return irq >= 0 && !nmi_request((unsigned)irq, console_follow_interrupt);
}

void console_interrupt_init(const struct cmdline *c)
{
	bool led;

	if (serial_mode() != SERIAL_POLLED)
		return;
	led = request(c->console_irq);
	if (led && nmi_comes(ask)) {
		console_interrupts_on(c->console_irq);
		return;
	}
	if (led)
		ioapic_mask(irq_gsi((unsigned)c->console_irq), true);
	console_polled = true;
	if (c->console_irq >= 0)
		printk_error(
			"console: interrupt %d does not come: the line is polled; input is seen when something "
			"happens: console=...,irq= says which it is",
			c->console_irq);
	else
		printk("console: no interrupt: the line is polled; input is seen when something happens");
}

void console_poll_now(void)
{
	static u64 next; /* atomic */
	u64 now = rdtsc();

	if ((s64)(now - __atomic_load_n(&next, __ATOMIC_RELAXED)) < 0)
		return;
	__atomic_store_n(&next, now + host_tsc_khz() * LOOK_MS, __ATOMIC_RELAXED);
	console_poll();
}

static bool waking;

static void woken(struct host_timer *)
{
	waking = false;
}

void console_idle(void)
{
	static struct host_timer wake = { .fn = woken };

	if (likely(!console_polled) || this_cpu()->id || waking)
		return;
	waking = true;
	host_timer_arm(&wake, rdtsc() + host_tsc_khz() * IDLE_MS);
}
