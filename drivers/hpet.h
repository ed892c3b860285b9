/* SPDX-License-Identifier: GPL-2.0-only */
/* HPET main counter as a reference clock (IA-PC HPET 1.0a, 2.3). No interrupts. */
#ifndef DRIVERS_HPET_H
#define DRIVERS_HPET_H

#include <margay/types.h>
#include "kernel/acpi/tables.h"

/*
 * Maps it (mmio_map) and starts the counter. info may be NULL. 0, or -ENODEV:
 * absent, or with an impossible period (logged).
 */
int hpet_init(const struct hpet_info *info);

bool hpet_present(void);
/* The main counter; only the bits of hpet_mask() count. Only when present. */
u64 hpet_read(void);
u64 hpet_mask(void);
/* Femtoseconds per tick. */
u32 hpet_period_fs(void);

#endif
