/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ACPI power management timer as a reference clock (ACPI 4.8.2.1): 24 or 32 bits, by port or
 * memory.
 */
#ifndef DRIVERS_PMTIMER_H
#define DRIVERS_PMTIMER_H

#include <margay/types.h>
#include "kernel/acpi/tables.h"

#define PMTIMER_HZ 3579545u

/* 0, or -ENODEV: the FADT names none, or it does not count. info may be NULL. */
int pmtimer_init(const struct fadt_info *info);

bool pmtimer_present(void);
/*
 * The counter, as a struct tsc_reference reads it; only the bits of pmtimer_mask() count. Only when
 * present.
 */
u64 pmtimer_read(void);
u32 pmtimer_mask(void);

#endif
