/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HPET (IA-PC HPET 1.0a, 2.3): the main counter as a reference clock, and one comparator that
 * interrupts.
 */
#ifndef DRIVERS_HPET_H
#define DRIVERS_HPET_H

#include <margay/types.h>
#include "kernel/acpi/tables.h"

/*
 * Maps it (mmio_map) and starts the counter. info may be NULL. 0, or -ENODEV:
 * absent, or with an impossible period (logged).
 */
int hpet_init(const struct hpet_info *info);

/* NULL: not present. */
extern volatile u8 *hpet_registers;
bool hpet_present(void);
/* The main counter; only the bits of hpet_mask() count. Only when present. */
u64 hpet_read(void);
u64 hpet_mask(void);
/* Femtoseconds per tick. */
u32 hpet_period_fs(void);

/* ---- hpet_alarm.c, in images with DIRECT_INTERRUPTS: only when present; one call at a time  */

/*
 * The inputs of I/O APICs (global system interrupts, a bit each) to which comparator n can be led;
 * 0: no such comparator.
 */
u32 hpet_alarm_inputs(unsigned n);
/* It shall be this one, at this input, as an edge, from the next arming on. */
void hpet_alarm_choose(unsigned n, unsigned input);
/*
 * Interrupts once, so many ticks from now or somewhat later, or when the counter's low half wraps;
 * not as was said before.
 */
void hpet_alarm_arm(u32 ticks);
void hpet_alarm_stop(void);
/*
 * Has it interrupted since this was asked last? Also when it was armed anew or stopped meanwhile.
 * Then it is not armed.
 */
bool hpet_alarm_asked(void);

#endif
