/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's one clock: the TSC, its rate, and the wall clock at boot. */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <margay/types.h>

/* Finds the TSC's rate (CPUID, HPET, PM timer) and logs it. Panics when there is no way to. After ACPI. */
void clock_init(void);

u64 clock_tsc_khz(void);
/* Constant rate (invariant by CPUID, or QEMU's TCG) and the same on all CPUs that are online. */
bool clock_tsc_stable(void);
/*
 * A CPU's TSC differs from the boot CPU's: clock_tsc_stable() is false from
 * now on. True when this is the first. Before any VM starts.
 */
bool clock_tsc_differs(void);
/* Nanoseconds since 1970-01-01 UTC when the TSC was *tsc; reads the CMOS clock once. */
u64 clock_wall(u64 *tsc);

#endif
