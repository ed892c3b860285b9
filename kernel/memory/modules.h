/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Boot modules: moved to one block at the end of a node's memory so that they
 * do not cut up what guests get, named by the first word of their string.
 * <margay/host.h> has host_module() and host_modules_release().
 */
#ifndef KERNEL_MODULES_H
#define KERNEL_MODULES_H

#include <margay/types.h>
#include "kernel/boot/bootinfo.h"

struct host_module;

/*
 * After pmem_start(), once. Where there is no room for the block a module stays where it is. Logs
 * names given twice.
 */
void modules_init(const struct bootinfo *bi);

#if IS_ENABLED(CONFIG_MANAGEMENT_VM)
/*
 * The i-th of those that came later, one without a name where one has gone; NULL past the last.
 */
const struct host_module *module_late(unsigned i);
#else
static inline const struct host_module *module_late(unsigned)
{
	return NULL;
}
#endif

/* Bytes that the modules occupy now. */
u64 modules_bytes(void);

#endif
