/* SPDX-License-Identifier: GPL-2.0-only */
/* Mitigations of speculation by CPU; <margay/mitigations.h> has what the monitor knows of them. */
#ifndef KERNEL_MITIGATIONS_H
#define KERNEL_MITIGATIONS_H

#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/mitigations.h"

#if IS_ENABLED(CONFIG_MITIGATIONS)
/*
 * Decides for the calling CPU, and sets it up, by what it is with the microcode that it has now.
 * Says nothing: a CPU that starts must not.
 */
void mitigations_init_cpu(void);

/* One line for each thing that a CPU is open to. All CPUs are online. */
void mitigations_tell(void);
#else
static inline void mitigations_init_cpu(void) { }

static inline void mitigations_tell(void) { }
#endif

#endif
