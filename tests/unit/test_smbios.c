/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/smbios.c kernel/acpi/rsdp.c */
/* SMBIOS entry points and structures, good ones and such as nobody should believe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/acpi.h>

#include "kernel/acpi/tables.h"

static void seal(u8 *p, size_t n, unsigned at)
{
	u8 sum = 0;

	p[at] = 0;
	for (size_t i = 0; i < n; i++)
		sum += p[i];
	p[at] = (u8)-sum;
}

static u8 area[256];

static void put_64(size_t at)
{
	u8 *p = area + at;

	memcpy(p, "_SM3_", 5);
	p[6] = 24;
	memcpy(p + 12, "\x34\x12\0\0", 4);
	memcpy(p + 16, "\x88\x77\x66\x55\x44\0\0\0", 8);
	seal(p, 24, 5);
}

static void put_32(size_t at, u8 says)
{
	u8 *p = area + at;

	memcpy(p, "_SM_", 4);
	p[5] = says;
	memcpy(p + 16, "_DMI_", 5);
	memcpy(p + 22, "\x21\x03", 2);
	memcpy(p + 24, "\x10\x20\x30\x40", 4);
	seal(p, says, 4);
}

static bool found(size_t size, u64 *table, u32 *length)
{
	u8 *exact = malloc(size ? size : 1); /* so that ASan sees a read past it */
	bool is;

	memcpy(exact, area, size);
	*table = ~0ull;
	*length = ~0u;
	is = smbios_entry(exact, size, table, length);
	free(exact);
	return is;
}

static void test_entry(void **)
{
	u64 table = 0;
	u32 length = 0;

	memset(area, 0, sizeof(area));
	for (size_t size = 0; size <= sizeof(area); size++)
		assert_false(found(size, &table, &length));
	put_32(16, 31);
	for (size_t size = 0; size < 47; size++)
		assert_false(found(size, &table, &length));
	assert_true(found(47, &table, &length));
	assert_int_equal(table, 0x40302010);
	assert_int_equal(length, 0x321);
	area[46] = 1; /* behind 30 bytes */
	put_32(16, 30);
	assert_true(found(46, &table, &length));
	/* The first of two. */
	put_32(160, 31);
	area[160 + 24] = 0;
	seal(area + 160, 31, 4);
	assert_true(found(200, &table, &length));
	assert_int_equal(table, 0x40302010);
	/* The other comes first, wherever it is. */
	put_64(112);
	for (size_t size = 47; size < 136; size++) {
		assert_true(found(size, &table, &length));
		assert_int_equal(table, 0x40302010);
	}
	assert_true(found(136, &table, &length));
	assert_int_equal(table, 0x4455667788);
	assert_int_equal(length, 0x1234);
}

static void test_bad_entry(void **)
{
	static const struct {
		u8 at;
		u8 value;
	} wrong64[] = { { 0, 'x' }, { 3, '-' }, { 5, 0 }, { 6, 23 }, { 6, 0xff } },
	  wrong32[] = { { 3, '-' }, { 5, 29 }, { 5, 0xff } };
	u64 table;
	u32 length;

	for (unsigned i = 0; i < ARRAY_SIZE(wrong64); i++) {
		memset(area, 0, sizeof(area));
		put_64(0);
		area[wrong64[i].at] = wrong64[i].value;
		if (i != 2)
			seal(area, 24, 7);
		assert_false(found(200, &table, &length));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(wrong32); i++) {
		memset(area, 0, sizeof(area));
		put_32(0, 31);
		area[wrong32[i].at] = wrong32[i].value;
		seal(area, 31, 4);
		assert_false(found(200, &table, &length));
	}
	/* Not on a boundary. */
	memset(area, 0, sizeof(area));
	put_64(8);
	assert_false(found(200, &table, &length));
}

#define NO_STRINGS "\0\0"

static const char table[] = "\x01\x08\x01\x00"
			    "\x01\x00\x03\x02"
			    "Maker\0Model\0Serial\0\0"
			    "\x11\x06\x02\x00"
			    "\x07\x00" NO_STRINGS "\x11\x05\x03\x00"
			    "\x01"
			    "DIMM\0\0"
			    "\x7f\x04\x04\x00" NO_STRINGS "\x11\x04\x05\x00" NO_STRINGS;
#define SIZE (sizeof(table) - 1)

static void test_structures(void **)
{
	const u8 *end, *p = smbios_find(table, SIZE, 1, 0, &end);

	assert_non_null(p);
	assert_int_equal(p[1], 8);
	assert_ptr_equal(end, p + 8 + 18);
	assert_null(smbios_find(table, 27, 1, 0, &end)); /* the strings do not end */
	assert_non_null(smbios_find(table, 28, 1, 0, &end));
	/* shorter than its own header */
	assert_null(smbios_find("\x01\x03\x01" NO_STRINGS, 5, 1, 0, &end));
	/* longer than the table */
	assert_null(smbios_find("\x01\x05\x01\0" NO_STRINGS, 6, 1, 0, &end));
	assert_null(smbios_find(table, SIZE, 1, 1, &end));
	p = smbios_find(table, SIZE, 17, 0, &end);
	assert_int_equal(p[2], 2);
	assert_ptr_equal(end, p + 6);
	p = smbios_find(table, SIZE, 17, 1, &end);
	assert_memory_equal(p + 5, "DIMM", 4);
	/* what is behind the end is not there */
	assert_null(smbios_find(table, SIZE, 17, 2, &end));
	assert_non_null(smbios_find(table, SIZE, 127, 0, &end));
	assert_null(smbios_find(NULL, 0, 1, 0, &end));
}

/*
 * Cut off anywhere, and with each byte wrong in turn: what is found lies in the table, its end too.
 */
static void test_broken(void **)
{
	static const u8 values[] = { 0, 1, 0x80, 0xff };

	for (size_t size = 0; size <= SIZE; size++) {
		for (size_t at = 0, v = 0; at < SIZE; at += v == 3, v = (v + 1) % 4) {
			u8 *exact = malloc(size ? size : 1);
			const u8 *p, *end;

			memcpy(exact, table, size);
			if (at < size)
				exact[at] = values[v];
			for (u8 type = 0; type < 128; type++)
				for (unsigned n = 0; (p = smbios_find(exact, size, type, n, &end));
				     n++) {
					assert_true(p >= exact && p[1] >= 4 && end >= p + p[1] &&
						    end + 2 <= exact + size);
					assert_true(!end[0] && !end[1]);
				}
			free(exact);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_bad_entry),
		cmocka_unit_test(test_structures),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
