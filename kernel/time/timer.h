/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One-shot timers, per CPU, sorted, over the local APIC's timer. There is no
 * periodic tick: a CPU without an armed timer gets no timer interrupt.
 */
#ifndef KERNEL_TIMER_H
#define KERNEL_TIMER_H

#include <margay/types.h>

/*
 * The monitor knows the same structure as struct host_timer; kernel/host/host.c
 * asserts that the two agree. fn runs in an interrupt window of the CPU that
 * armed the timer, interrupts off, never early, already disarmed (it may arm
 * again).
 */
struct timer {
	struct timer *next; /* while armed */
	u64 deadline;       /* TSC */
	bool armed;
	unsigned cpu;       /* whose list holds it */
	void (*fn)(struct timer *timer);
};

/* Sets up the timer interrupt: once, after apic_timer_init(). */
void timer_init(void);

/*
 * Arms on the calling CPU; an armed timer is moved. A deadline in the past
 * fires at the next interrupt window. Interrupts off.
 */
void timer_arm(struct timer *timer, u64 tsc_deadline);

/* Disarms; only on the CPU that armed it. No effect when not armed. Interrupts off. */
void timer_cancel(struct timer *timer);

/* Runs what is due on the calling CPU and programs the next interrupt. Interrupts off. */
void timer_run_due(void);

#endif
