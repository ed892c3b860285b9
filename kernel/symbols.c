/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks an address up in the table that tools/mksyms appends to the image (CONFIG_SYMBOLS). */
#include "kernel/symbols.h"

/* Sorted by offset; empty in the first of the two link passes. */
struct symbol {
	u32 offset; /* of the function from the image's start */
	u32 name;   /* offset of its name from the table's start */
};

extern const u8 symtab_start[], symtab_end[], image_start[], text_end[];

const char *symbol_find(u64 addr, u64 *offset)
{
	const u32 *count = (const u32 *)symtab_start;
	const struct symbol *table = (const struct symbol *)(symtab_start + 8);
	u32 low = 0, high, want = (u32)(addr - (u64)image_start);

	if (&symtab_start[0] == &symtab_end[0] || addr < (u64)image_start || addr >= (u64)text_end)
		return NULL;
	for (high = *count; low < high;) {
		u32 mid = low + (high - low) / 2;

		if (table[mid].offset <= want)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	*offset = want - table[low - 1].offset;
	return (const char *)symtab_start + table[low - 1].name;
}
