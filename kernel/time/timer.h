/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One-shot timers, per CPU, sorted, over the local APIC's timer. There is no
 * periodic tick: a CPU without an armed timer gets no timer interrupt.
 * <margay/host.h> has struct host_timer, host_timer_arm() and host_timer_cancel().
 */
#ifndef KERNEL_TIMER_H
#define KERNEL_TIMER_H

/* Sets up the timer interrupt: once, after apic_timer_init(). */
void timer_init(void);

/* Runs what is due on the calling CPU and programs the next interrupt. Interrupts off. */
void timer_run_due(void);

#endif
