/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-CPU work loop: a CPU runs one work item at a time, to its end, and
 * sleeps as deeply as it can when it has none. What gives it work, wakes it and
 * makes it look is in <margay/host.h>: host_cpu_assign(), host_cpu_kick(),
 * host_cpu_wait(), host_interrupt_window().
 */
#ifndef KERNEL_WORK_H
#define KERNEL_WORK_H

/* Never returns. */
void work_loop(void) __attribute__((noreturn));

#endif
