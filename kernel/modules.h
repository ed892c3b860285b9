/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Boot modules: moved to one block at the end of a node's memory so that they
 * do not cut up what guests get, named by the first word of their string.
 */
#ifndef KERNEL_MODULES_H
#define KERNEL_MODULES_H

#include <margay/types.h>
#include "kernel/boot/bootinfo.h"

struct module {
	const char *name; /* the string up to the first blank; "" when unnamed */
	const char *args; /* the rest of it, without leading blanks */
	const void *data; /* in the direct map */
	u64 size;
};

/* After pmem_start(), once. Where there is no room for the block a module stays where it is. Logs names given twice. */
void modules_init(const struct bootinfo *bi);

/* Module i in boot order, or NULL past the last (and after modules_release()). */
const struct module *modules_get(unsigned i);

/* Bytes that the modules occupy now. */
u64 modules_bytes(void);

/* Gives all the modules' memory back; returns how many bytes. No pointer from modules_get() is valid afterwards. */
u64 modules_release(void);

#endif
