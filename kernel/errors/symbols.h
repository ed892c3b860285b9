/* SPDX-License-Identifier: GPL-2.0-only */
/* Function names for backtraces, from the table that tools/mksyms makes (CONFIG_SYMBOLS). */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <margay/types.h>

#define SYMBOL_NAME 64 /* with its final 0; also in mksyms */

#if IS_ENABLED(CONFIG_SYMBOLS)
/* Name of the function that holds addr and the offset in it; false when unknown. */
bool symbol_find(u64 addr, char name[SYMBOL_NAME], u64 *offset);
#else
static inline bool symbol_find(u64, char[SYMBOL_NAME], u64 *)
{
	return false;
}
#endif

#endif
