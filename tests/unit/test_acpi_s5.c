/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/s5.c kernel/acpi/aml.c */
/* \_S5 in AML: encodings of ACPI 20.2, as firmware writes them and as it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/acpi/s5.h"

static struct s5_info s5;

static bool find(const void *aml, size_t size)
{
	u8 *exact = malloc(size ? size : 1);
	bool found;

	memcpy(exact, aml, size);
	found = s5_find(exact, size, &s5);
	free(exact);
	return found;
}

#define FIND(...) find((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

static void test_forms(void **)
{
	/* Name (_S5, Package (0x04) { Zero, Zero, Zero, Zero }): QEMU */
	assert_true(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x06, 0x04, 0x00, 0x00, 0x00, 0x00));
	assert_int_equal(s5.slp_typa, 0);
	assert_int_equal(s5.slp_typb, 0);
	/* Name (\_S5, Package () { 0x05, 0x07, 0, 0 }) with byte constants */
	assert_true(FIND(0xff, 0x08, 0x5c, '_', 'S', '5', '_', 0x12, 0x08, 0x04, 0x0a, 0x05, 0x0a,
			 0x07, 0x00, 0x00));
	assert_int_equal(s5.slp_typa, 5);
	assert_int_equal(s5.slp_typb, 7);
}

static void test_values(void **)
{
	/* word and double word constants */
	assert_true(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x0a, 0x02, 0x0b, 0x03, 0x00, 0x0c, 0x01,
			 0x00, 0x00, 0x00));
	assert_int_equal(s5.slp_typa, 3);
	assert_int_equal(s5.slp_typb, 1);
	/* One */
	assert_true(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x04, 0x02, 0x01, 0x01));
	assert_int_equal(s5.slp_typa, 1);
	assert_int_equal(s5.slp_typb, 1);
	/* One element that packs both */
	assert_true(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x05, 0x01, 0x0b, 0x05, 0x06));
	assert_int_equal(s5.slp_typa, 5);
	assert_int_equal(s5.slp_typb, 6);
}

static void test_long_package_length(void **)
{
	/* PkgLength of two bytes: 0x52 -> low nibble 2, then 5: 0x52 = 82 bytes from itself */
	u8 aml[5 + 1 + 82] = { 0x08, '_',  'S',  '5',  '_',  0x12, 0x42,
			       0x05, 0x04, 0x0a, 0x05, 0x0a, 0x06 };

	assert_true(find(aml, sizeof(aml)));
	assert_int_equal(s5.slp_typa, 5);
	assert_int_equal(s5.slp_typb, 6);
	assert_false(find(aml, sizeof(aml) - 1));
}

static void test_not_taken(void **)
{
	/* no NameOp */
	assert_false(FIND('_', 'S', '5', '_', 0x12, 0x06, 0x04, 0x00, 0x00, 0x00, 0x00));
	assert_false(FIND(0x5c, '_', 'S', '5', '_', 0x12, 0x06, 0x04, 0x00, 0x00, 0x00, 0x00));
	assert_false(FIND(0x08, '_', 'S', '4', '_', 0x12, 0x06, 0x04, 0x00, 0x00, 0x00, 0x00));
	/* a buffer */
	assert_false(FIND(0x08, '_', 'S', '5', '_', 0x11, 0x06, 0x04, 0x00, 0x00, 0x00, 0x00));
	assert_false(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x02, 0x00)); /* empty */
	/* no constant */
	assert_false(
		FIND(0x08, '_', 'S', '5', '_', 0x12, 0x08, 0x02, 0x70, 0x60, 0x00, 0x00, 0x00));
	/* type 8 */
	assert_false(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x06, 0x02, 0x0a, 0x08, 0x0a, 0x00));
	assert_false(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x00, 0x02, 0x01, 0x01)); /* length 0 */
	/* second element outside */
	assert_false(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x03, 0x02, 0x01, 0x01));
	/* reserved bits */
	assert_false(FIND(0x08, '_', 'S', '5', '_', 0x12, 0x70, 0x00, 0x02, 0x01, 0x01));
	assert_false(find("", 0));
}

/* A false name first does not hide the true one. */
static void test_second_hit(void **)
{
	assert_true(FIND(0x08, '_', 'S', '5', '_', 0x0d, 0x08, '_', 'S', '5', '_', 0x12, 0x06, 0x02,
			 0x0a, 0x02, 0x0a, 0x03));
	assert_int_equal(s5.slp_typa, 2);
	assert_int_equal(s5.slp_typb, 3);
}

static void test_truncated(void **)
{
	static const u8 aml[] = { 0x08, '_',  'S',  '5',  '_',  0x12, 0x08,
				  0x04, 0x0a, 0x05, 0x0a, 0x06, 0x00, 0x00 };

	assert_true(find(aml, sizeof(aml)));
	for (size_t n = 0; n < sizeof(aml); n++)
		assert_false(find(aml, n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_package_length),
		cmocka_unit_test(test_not_taken),
		cmocka_unit_test(test_second_hit),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
