/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hypervisor keeps for itself, in a line of the boot's. */
#ifndef KERNEL_OWN_MEMORY_H
#define KERNEL_OWN_MEMORY_H

#include <margay/types.h>

#if IS_ENABLED(CONFIG_BOOT_LOG)
/* All CPUs have theirs, and nothing else has any yet. */
void own_memory_note_cpus(void);

/* Before any VM is made. */
void own_memory_tell(void);
#else
static inline void own_memory_note_cpus(void) { }

static inline void own_memory_tell(void) { }
#endif

#endif
