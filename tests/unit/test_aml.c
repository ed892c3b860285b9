/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/acpi/aml_build.c vmm/acpi/aml_encode.c lib/span.c */
/* The AML encoder, byte by byte against ACPI 6.4, chapter 20 and section 6.4. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "vmm/acpi/aml_build.h"

static u8 out[0x110000];
static struct aml a;

static void check(const void *bytes, size_t n)
{
	assert_int_equal(aml_error(&a), 0);
	assert_int_equal(a.len, n);
	assert_memory_equal(out, bytes, n);
	aml_init(&a, out, sizeof(out));
}

#define CHECK(...) check((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

static int setup(void **)
{
	aml_init(&a, out, sizeof(out));
	return 0;
}

static void test_names_and_integers(void **)
{
	aml_name_integer(&a, "_UID", 0);
	CHECK(0x08, '_', 'U', 'I', 'D', 0x00);
	aml_name_integer(&a, "A", 1);
	CHECK(0x08, 'A', '_', '_', '_', 0x01);
	aml_name_integer(&a, "\\_S5", 0xff);
	CHECK(0x08, '\\', '_', 'S', '5', '_', 0x0a, 0xff);
	aml_name_integer(&a, "X123", 0x100);
	CHECK(0x08, 'X', '1', '2', '3', 0x0b, 0x00, 0x01);
	aml_name_integer(&a, "X", 0x12345678);
	CHECK(0x08, 'X', '_', '_', '_', 0x0c, 0x78, 0x56, 0x34, 0x12);
	aml_name_integer(&a, "X", 0x100000000);
	CHECK(0x08, 'X', '_', '_', '_', 0x0e, 0, 0, 0, 0, 1, 0, 0, 0);
	/* EisaId ("PNP0501"): 0x0105d041 */
	aml_name_eisaid(&a, "_HID", "PNP0501");
	CHECK(0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x05, 0x01);
	/* EisaId ("PNP0A08"), as in any PCI Express machine's DSDT: 0x080ad041 */
	aml_name_eisaid(&a, "_HID", "PNP0A08");
	CHECK(0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x0a, 0x08);
}

static void test_package_and_nesting(void **)
{
	static const u64 entry[] = { 5, 0 };

	aml_packages_begin(&a, "_PRT", 1);
	aml_package(&a, entry, 2);
	aml_end(&a);
	CHECK(0x08, '_', 'P', 'R', 'T', 0x12, 0x08, 0x01, 0x12, 0x05, 0x02, 0x0a, 0x05, 0x00);
	aml_scope(&a, "\\_SB");
	aml_device(&a, "COM0");
	aml_end(&a);
	aml_end(&a);
	CHECK(0x10, 0x0d, '\\', '_', 'S', 'B', '_', 0x5b, 0x82, 0x05, 'C', 'O', 'M', '0');
}

static void test_resources(void **)
{
	aml_crs_begin(&a, "_CRS");
	aml_range(&a, AML_RANGE_BUS, true, 3, 2, 0);
	aml_crs_end(&a);
	CHECK(0x08, '_', 'C', 'R', 'S', 0x11, 0x16, 0x0b, 0x12, 0x00, 0x88, 0x0d, 0x00, 0x02, 0x0c,
	      0x00, 0x00, 0x00, 0x03, 0x00, 0x04, 0x00, 0x00, 0x00, 0x02, 0x00, 0x79, 0x00);
}

/* PkgLength takes 1 to 4 bytes and counts itself: each border, from both sides. */
static void test_package_length_borders(void **)
{
	/*
	 * Device content: 4 of its name, then integers by name: "08 name 0a 02" and "08 name 00",
	 * of 7 and 6 bytes.
	 */
	static const struct {
		size_t content;
		u8 length[4];
		unsigned bytes;
	} border[] = {
		{ 62, { 0x3f }, 1 },
		{ 63, { 0x41, 0x04 }, 2 },
		{ 0xffd, { 0x4f, 0xff }, 2 },
		{ 0xffe, { 0x81, 0x00, 0x01 }, 3 },
		{ 0xffffc, { 0x8f, 0xff, 0xff }, 3 },
		{ 0xffffd, { 0xc1, 0x00, 0x00, 0x01 }, 4 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(border); i++) {
		size_t n = border[i].content - 4;

		aml_init(&a, out, sizeof(out));
		aml_device(&a, "D");
		for (; n % 6; n -= 7)
			aml_name_integer(&a, "T", 2);
		for (; n; n -= 6)
			aml_name_integer(&a, "T", 0);
		aml_end(&a);
		assert_int_equal(aml_error(&a), 0);
		assert_int_equal(a.len, 2 + border[i].bytes + border[i].content);
		assert_memory_equal(out + 2, border[i].length, border[i].bytes);
		assert_memory_equal(out + 2 + border[i].bytes, "D___\x08T___", 9);
		assert_int_equal(out[a.len - 1], 0);
	}
}

/* Every capacity short of the whole fails, and nothing is written past it. */
static void test_capacity(void **)
{
	size_t whole = 0;

	for (size_t cap = 100; cap-- > 0;) {
		memset(out, 0xcc, 128);
		aml_init(&a, out, cap);
		aml_scope(&a, "\\_SB");
		aml_device(&a, "COM0");
		aml_name_eisaid(&a, "_HID", "PNP0501");
		aml_crs_begin(&a, "_CRS");
		aml_range(&a, AML_RANGE_BUS, true, 0, 1, 0);
		aml_crs_end(&a);
		aml_end(&a);
		aml_end(&a);
		if (!whole)
			whole = a.len;
		assert_int_equal(aml_error(&a), cap >= whole ? 0 : -ENOSPC);
		for (size_t i = cap; i < 128; i++)
			assert_int_equal(out[i], 0xcc);
	}
}

static void test_misuse(void **)
{
	static const char *const bad_name[] = { "", "TOOLONG", "1ABC", "abc", "A-B", "\\" };

	for (unsigned i = 0; i < ARRAY_SIZE(bad_name); i++) {
		aml_init(&a, out, sizeof(out));
		aml_name_integer(&a, bad_name[i], 0);
		assert_int_equal(aml_error(&a), -EINVAL);
	}
	aml_init(&a, out, sizeof(out));
	aml_end(&a);
	assert_int_equal(aml_error(&a), -EINVAL);
	aml_init(&a, out, sizeof(out));
	aml_scope(&a, "X");
	assert_int_equal(aml_error(&a), -EINVAL);
	aml_init(&a, out, sizeof(out));
	for (unsigned i = 0; i < AML_MAX_DEPTH + 1; i++)
		aml_scope(&a, "X");
	for (unsigned i = 0; i < AML_MAX_DEPTH + 1; i++)
		aml_end(&a);
	assert_int_equal(aml_error(&a), -EINVAL);
	aml_init(&a, out, sizeof(out));
	aml_name_eisaid(&a, "_HID", "PNPXYZ1");
	assert_int_equal(aml_error(&a), -EINVAL);
	aml_init(&a, out, sizeof(out));
	aml_name_eisaid(&a, "_HID", "1NP0501");
	assert_int_equal(aml_error(&a), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_names_and_integers, setup),
		cmocka_unit_test_setup(test_package_and_nesting, setup),
		cmocka_unit_test_setup(test_resources, setup),
		cmocka_unit_test_setup(test_package_length_borders, setup),
		cmocka_unit_test_setup(test_capacity, setup),
		cmocka_unit_test_setup(test_misuse, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
