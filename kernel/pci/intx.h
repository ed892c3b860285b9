/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Line interrupts for devices of VMs: inputs of the I/O APICs, level-triggered,
 * each taken by one user. An input is masked from an interrupt on until its
 * user opens it again, so that a line that stays asserted interrupts once.
 */
#ifndef KERNEL_INTX_H
#define KERNEL_INTX_H

#include <margay/types.h>

/*
 * Takes an input, masked. fn(arg, 0) runs on the CPU for each interrupt, as
 * msi_alloc()'s. 0; -ENODEV: no I/O APIC has it; -EBUSY: it is taken, or the
 * host's own; and what msi_alloc() says.
 */
int intx_take(u32 gsi, bool active_low, unsigned cpu, void (*fn)(void *arg, unsigned n), void *arg);
/* Lets the next interrupt come: at once, while the line is asserted. Any CPU; nothing where the input is not taken. */
void intx_open(u32 gsi);
/* Masks it and gives it back; fn does not run any more when it returns. */
void intx_release(u32 gsi);

#endif
