/* SPDX-License-Identifier: GPL-2.0-only */
/* Device interrupts of the host, by the MADT's rules. */
#ifndef KERNEL_IRQ_H
#define KERNEL_IRQ_H

#include <margay/types.h>

/* Adds the MADT's I/O APICs. After ACPI and apic_init(). */
void irq_init(void);

/* The inputs of the calling CPU's local APIC that are NMI by the MADT. */
void irq_local_nmis(void);

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/*
 * x2apic.c: whether x2APIC mode is wanted, for apic_init(), by the DMAR and x2apic= of the command
 * line; then a line where it stays off for that (host_x2apic_off()). Once each.
 */
bool x2apic_wanted(void);
void x2apic_tell(void);
#else
static inline bool x2apic_wanted(void)
{
	return false;
}

static inline void x2apic_tell(void) { }
#endif

/*
 * Routes an ISA interrupt (0-15) as NMI to a CPU, through the MADT's source overrides; from 16 on
 * an input of the I/O APICs, which is low when it asks, as those of PCI. Whatever the line is, what
 * arrives there is an edge. 0 or -errno (logged).
 */
int irq_route_nmi(unsigned irq, unsigned cpu);

/* The input of the I/O APICs that is. With a MADT. */
u32 irq_gsi(unsigned irq);

#endif
