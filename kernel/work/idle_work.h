/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work for CPUs that have nothing else to do: host_idle_work() (<margay/host.h>), as the work loop
 * has it.
 */
#ifndef KERNEL_IDLE_WORK_H
#define KERNEL_IDLE_WORK_H

#include <margay/types.h>

#if IS_ENABLED(CONFIG_PASSTHROUGH) && IS_ENABLED(CONFIG_MONITOR_CONSOLE)
/* On a CPU without work: a step of each. False: there is none, or another CPU does it. */
bool idle_work(void);
/* The calling CPU has work now: another one that has none goes on. */
void idle_work_pass_on(void);
#else
static inline bool idle_work(void)
{
	return false;
}

static inline void idle_work_pass_on(void) { }
#endif

#endif
