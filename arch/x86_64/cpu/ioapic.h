/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's I/O APICs: every input masked but those that the host itself
 * routes. Intel 82093AA data sheet, 3.2.
 */
#ifndef ARCH_CPU_IOAPIC_H
#define ARCH_CPU_IOAPIC_H

#include <margay/types.h>

#define IOAPIC_MAX 64

/* Adds one controller and masks all its inputs. 0, -ENOSPC or -EINVAL (logged). */
int ioapic_add(u64 pa, u32 gsi_base);

/*
 * Routes a global system interrupt to one CPU as NMI, an edge, and unmasks it.
 * 0; -ENODEV when no controller has the input; -ERANGE when the APIC ID does
 * not fit the 8-bit destination; -EBUSY when the input is open already.
 */
int ioapic_route_nmi(u32 gsi, u32 apic_id, bool active_low);

/* The same for a fixed interrupt of that vector, level-triggered; it stays masked. */
int ioapic_route_level(u32 gsi, u32 apic_id, u8 vector, bool active_low);
/* Masks or opens a routed input; nothing where no controller has it. Any CPU. */
void ioapic_mask(u32 gsi, bool masked);

#endif
