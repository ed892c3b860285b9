/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One-shot timers, per CPU, sorted, over the local APIC's timer. There is no
 * periodic tick: a CPU without an armed timer gets no timer interrupt.
 * <margay/host.h> has struct host_timer, host_timer_arm() and host_timer_cancel().
 */
#ifndef KERNEL_TIMER_H
#define KERNEL_TIMER_H

#include <margay/types.h>

/* Sets up the timer interrupt: once, after apic_timer_init(). */
void timer_init(void);

/* Runs what is due on the calling CPU and programs the next interrupt. Interrupts off. */
void timer_run_due(void);

/*
 * ---- alarm.c, in images with DIRECT_INTERRUPTS: timers of CPUs whose local APIC is a guest's --
 */

/*
 * When the calling CPU shall be kicked, by its TSC, instead of what was said before; 0: not.
 * Nothing where there is no alarm.
 */
void alarm_set(u64 deadline);
/* After an NMI on the boot CPU: kicks those that are due. Did the HPET ask? */
bool alarm_look(void);
/* The input has been found (kernel/work/alarm_input.h). */
void alarm_begin(void);

#endif
