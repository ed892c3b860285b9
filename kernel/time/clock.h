/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's one clock: the TSC, its rate, and the wall clock at boot.
 * <margay/host.h> has what it says: host_tsc_khz(), host_tsc_stable(),
 * host_wall_clock().
 */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <margay/types.h>

/*
 * Starts the clock with a coarse rate of the TSC (CPUID, HPET, PM timer), good
 * for delays. 0, or -ENODEV: there is no way to find one. After ACPI.
 */
int clock_init(void);

/*
 * The final rate, measured since clock_init(): within 1 ppm of the reference,
 * for which it waits some seconds if it must, unless CPUID 15H gives it. Logs
 * it with its error bound. Once, after everything else of the boot, before any
 * VM is made.
 */
void clock_refine(void);

/* Logs by how much the clock was wrong between clock_init() and now, by the same reference. */
void clock_report(void);

/*
 * A CPU's TSC differs from the boot CPU's: host_tsc_stable() is false from
 * now on. True when this is the first. Before any VM starts.
 */
bool clock_tsc_differs(void);

#endif
