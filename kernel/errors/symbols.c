/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks an address up in the table that tools/mksyms appends to the image (CONFIG_SYMBOLS). */
#include "kernel/errors/symbols.h"

#define CODES 256 /* how many there are */

/*
 * First what each code stands for: a character and 0, or two codes, of which none is 0. Then for
 * each function, sorted: how far it lies behind the one before (the first: behind the image's
 * start), seven bits a byte, the high ones first, bit 7 in all bytes but the last; the number of
 * its name's codes, and these. Empty in the first of the two link passes.
 */
extern const u8 symtab_start[], symtab_end[], image_start[], text_end[];

/* Nested a few deep, and never longer than a name may be: mksyms sees to it. */
static char *expand(char *to, u8 code)
{
	const u8 *pair = &symtab_start[code * 2];

	if (pair[1])
		return expand(expand(to, pair[0]), pair[1]);
	*to = (char)pair[0];
	return to + 1;
}

bool symbol_find(u64 addr, char name[SYMBOL_NAME], u64 *offset)
{
	const u8 *found = NULL;
	u64 at = (u64)image_start;

	if (addr - at >= (u64)(text_end - image_start))
		return false;
	for (const u8 *p = symtab_start + CODES * 2; p < symtab_end; p += 1 + *p) {
		u64 distance = 0;

		do
			distance = distance << 7 | (*p & 0x7f);
		while (*p++ & 0x80);
		if (distance > addr - at)
			break;
		at += distance;
		found = p;
	}
	if (!found)
		return false;
	for (const u8 *code = found + 1; code <= found + *found; code++)
		name = expand(name, *code);
	*name = 0;
	*offset = addr - at;
	return true;
}
