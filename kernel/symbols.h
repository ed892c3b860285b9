/* SPDX-License-Identifier: GPL-2.0-only */
/* Function names for backtraces, from the table that tools/mksyms makes (CONFIG_SYMBOLS). */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <margay/types.h>

/* Name of the function that holds addr and the offset in it; NULL when unknown. */
const char *symbol_find(u64 addr, u64 *offset);

#endif
