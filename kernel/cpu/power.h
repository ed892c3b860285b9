/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs' clocks: set up on each CPU, and told. */
#ifndef KERNEL_POWER_H
#define KERNEL_POWER_H

#include <margay/types.h>

#if IS_ENABLED(CONFIG_CPU_POWER)
/* For the calling CPU, by power= of the command line. Says nothing: a CPU that starts must not. */
void power_init_cpu(void);

/*
 * A line of the boot CPU's, and one of the first CPU that differs, with how many do. All CPUs are
 * online.
 */
void power_tell(void);
#else
static inline void power_init_cpu(void) { }

static inline void power_tell(void) { }
#endif

#endif
