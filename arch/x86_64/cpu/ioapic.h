/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's I/O APICs: every input masked but those that the host itself
 * routes, and those that are SMIs by firmware. Intel 82093AA data sheet, 3.2.
 */
#ifndef ARCH_CPU_IOAPIC_H
#define ARCH_CPU_IOAPIC_H

#include <margay/types.h>

#define IOAPIC_MAX 64

/*
 * Adds one controller and masks its inputs, but what firmware has open as SMIs. 0, -ENOSPC or
 * -EINVAL (logged).
 */
int ioapic_add(u64 pa, u32 gsi_base);

/*
 * Routes a global system interrupt to one CPU as NMI, an edge, and unmasks it.
 * 0; -ENODEV when no controller has the input; -ERANGE when the APIC ID does
 * not fit the 8-bit destination, whose 255 is all; -EBUSY when the input is open already.
 */
int ioapic_route_nmi(u32 gsi, u32 apic_id, bool active_low);

/* Masks or opens a routed input; nothing where no controller has it. Any CPU. */
void ioapic_mask(u32 gsi, bool masked);

/*
 * ioapic_line.c: as ioapic_route_nmi() for a fixed interrupt of that vector, level-triggered; it
 * stays masked.
 */
int ioapic_route_level(u32 gsi, u32 apic_id, u8 vector, bool active_low);
/*
 * Has a CPU a level-triggered interrupt of that input that it has not ended by its EOI (remote
 * IRR)? end: it is ended first, perhaps others of that vector, too; where the line is still
 * asserted the next one comes. One user of an input at a time.
 */
bool ioapic_in_service(u32 gsi, bool end);

/*
 * Behind these: as ioapic_route_nmi(), by the low half of an entry; that half as it was, changed if
 * there is anything to change.
 */
int ioapic_route(u32 gsi, u32 apic_id, u32 low);
u32 ioapic_change(u32 gsi, u32 clear, u32 set);
/* Sends the input's controller an EOI; false: it has no register for that. */
bool ioapic_write_eoi(u32 gsi, u8 vector);

#endif
