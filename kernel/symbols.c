/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks an address up in the table that tools/mksyms appends to the image (CONFIG_SYMBOLS). */
#include "kernel/symbols.h"

#include <margay/string.h>

/*
 * For each function, sorted: two bytes, how far it lies behind the one before
 * (the first: behind the image's start), and its name with a final 0. Empty in
 * the first of the two link passes.
 */
extern const u8 symtab_start[], symtab_end[], image_start[], text_end[];

const char *symbol_find(u64 addr, u64 *offset)
{
	const char *found = NULL;
	u64 at = (u64)image_start;

	if (addr >= (u64)text_end)
		return NULL;
	for (const u8 *p = symtab_start; p < symtab_end; p = (const u8 *)found + strlen(found) + 1) {
		u64 next = at + p[0] + (p[1] << 8);

		if (next > addr)
			break;
		at = next;
		found = (const char *)p + 2;
	}
	*offset = addr - at;
	return found;
}
