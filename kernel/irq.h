/* SPDX-License-Identifier: GPL-2.0-only */
/* Device interrupts of the host: from an ISA IRQ or a GSI to a handler on a CPU, by the MADT's rules. */
#ifndef KERNEL_IRQ_H
#define KERNEL_IRQ_H

#include <margay/types.h>

/* Adds the MADT's I/O APICs. After ACPI and apic_init(). */
void irq_init(void);

/*
 * Routes an ISA interrupt (0-15) to the boot CPU, through the MADT's source
 * overrides, and installs the handler, which runs in that CPU's interrupt
 * windows. 0 or -errno (logged).
 */
int irq_request_isa(unsigned irq, void (*fn)(void *arg), void *arg);

/* The same for a global system interrupt with a given trigger and polarity. */
int irq_request_gsi(u32 gsi, bool level, bool active_low, void (*fn)(void *arg), void *arg);

#endif
