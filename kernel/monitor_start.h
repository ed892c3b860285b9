/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's one call into the monitor above it. */
#ifndef KERNEL_MONITOR_START_H
#define KERNEL_MONITOR_START_H

/*
 * Called once on the boot CPU, interrupts off, when the kernel is ready. Reads
 * the VM files, hands work items to CPUs and returns; the CPUs then run them.
 */
void monitor_start(void);

#endif
