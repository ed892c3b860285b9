/* SPDX-License-Identifier: GPL-2.0-only */
/* What a panic shows beside its reason. */
#ifndef KERNEL_PANIC_DUMP_H
#define KERNEL_PANIC_DUMP_H

#include "arch/x86_64/cpu/trap.h"

#if IS_ENABLED(CONFIG_DUMPS)
/* The log's last lines, before the reason. */
void panic_dump_log(void);

/* Those that an exception has met. True: shown, as is what called it. */
bool panic_dump_registers(const struct trap_frame *f);
#else
static inline void panic_dump_log(void) { }

static inline bool panic_dump_registers(const struct trap_frame *)
{
	return false;
}
#endif

#endif
