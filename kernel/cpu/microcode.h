/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Microcode out of a boot module `microcode:NAME`, for all CPUs, before anything is made of what
 * they can do.
 */
#ifndef KERNEL_MICROCODE_H
#define KERNEL_MICROCODE_H

#include "kernel/boot/bootinfo.h"

#if IS_ENABLED(CONFIG_MICROCODE)
/*
 * Loads the newest update that the modules have for the boot CPU, if it is newer than what that
 * has. Logs what came of each.
 */
void microcode_init(const struct bootinfo *bi);

/*
 * The same update for a CPU that starts, if it is one like the boot CPU. Says nothing. Before
 * modules_init().
 */
void microcode_init_cpu(void);

/* A line for each CPU that has another revision than the boot CPU. All CPUs are online. */
void microcode_tell(void);
#else
static inline void microcode_init(const struct bootinfo *) { }

static inline void microcode_init_cpu(void) { }

static inline void microcode_tell(void) { }
#endif

#endif
