/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/errors/symbols.c */
/* The table of function names, as tools/mksyms writes it: which function an address lies in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/errors/symbols.h"

/*
 * An image whose first function starts 4 bytes behind its start, the next 0x163 and 0x8001 bytes
 * further. Codes 1 to 9 stand for the characters of "entryflas", 10 for "en", 11 for "ry", 12 for
 * "t" and that, 13 for "entry", 0xff for "st".
 */
asm("	.data\n"
    "	.globl image_start, text_end, symtab_start, symtab_end\n"
    "image_start:	.skip 0x9000\n"
    "text_end:\n"
    "symtab_start:\n"
    "	.byte 0, 0, 'e', 0, 'n', 0, 't', 0, 'r', 0, 'y', 0, 'f', 0, 'l', 0, 'a', 0, 's', 0\n"
    "	.byte 1, 2, 4, 5, 3, 11, 10, 12\n"
    "	.skip 241 * 2\n	.byte 9, 3\n"
    "	.byte 4, 1, 13\n"
    "	.byte 0x82, 0x63, 1, 6\n"
    "	.byte 0x82, 0x80, 0x01, 3, 7, 8, 0xff\n"
    "symtab_end:\n"
    "	.text\n");

extern const u8 image_start[];

static void expect(u64 at, const char *name, u64 offset)
{
	char found[SYMBOL_NAME];
	u64 behind = ~0ull;

	assert_true(symbol_find((u64)image_start + at, found, &behind));
	assert_string_equal(found, name);
	assert_int_equal(behind, offset);
}

static void finds(void **)
{
	expect(4, "entry", 0);
	expect(0x166, "entry", 0x162);
	expect(0x167, "f", 0);
	expect(0x8167, "f", 0x8000);
	expect(0x8168, "last", 0);
	expect(0x8fff, "last", 0xe97);
}

static void unknown(u64 at)
{
	char found[SYMBOL_NAME];
	u64 behind;

	assert_false(symbol_find((u64)image_start + at, found, &behind));
}

static void outside(void **)
{
	unknown(-1ull);
	unknown(0);
	unknown(3);
	unknown(0x9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds), cmocka_unit_test(outside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
