/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/symbols.c */
/* The table of function names, as tools/mksyms writes it: which function an address lies in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/symbols.h"

/* An image whose first function starts 4 bytes behind its start, the next 0x123 and 0x8001 bytes further. */
asm("	.data\n"
    "	.globl image_start, text_end, symtab_start, symtab_end\n"
    "image_start:	.skip 0x9000\n"
    "text_end:\n"
    "symtab_start:\n"
    "	.short 4\n	.asciz \"entry\"\n"
    "	.short 0x123\n	.asciz \"f\"\n"
    "	.short 0x8001\n	.asciz \"last\"\n"
    "symtab_end:\n"
    "	.text\n");

extern const u8 image_start[];

static void expect(u64 at, const char *name, u64 offset)
{
	u64 found = ~0ull;

	assert_string_equal(symbol_find((u64)image_start + at, &found), name);
	assert_int_equal(found, offset);
}

static void finds(void **)
{
	expect(4, "entry", 0);
	expect(0x126, "entry", 0x122);
	expect(0x127, "f", 0);
	expect(0x8127, "f", 0x8000);
	expect(0x8128, "last", 0);
	expect(0x8fff, "last", 0xed7);
}

static void outside(void **)
{
	u64 offset;

	assert_null(symbol_find((u64)image_start - 1, &offset));
	assert_null(symbol_find((u64)image_start, &offset));
	assert_null(symbol_find((u64)image_start + 3, &offset));
	assert_null(symbol_find((u64)image_start + 0x9000, &offset));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds), cmocka_unit_test(outside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
