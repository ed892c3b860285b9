/* SPDX-License-Identifier: GPL-2.0-only */
/* Which comparator of the HPET and which input of the I/O APICs are the alarm's. */
#ifndef KERNEL_ALARM_INPUT_H
#define KERNEL_ALARM_INPUT_H

#include <margay/types.h>

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/*
 * Finds an input that nobody else has and by which NMIs come, and lets the alarm
 * (kernel/time/timer.h) begin. On the boot CPU, when the routes of PCI functions are known.
 */
void alarm_init(void);
#else
static inline void alarm_init(void) { }
#endif

#endif
