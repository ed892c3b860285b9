/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/string.c */
/*
 * The image's memory and string functions (as lwk_*), against ISO C 7.24 and byte-by-byte models.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "lib/libc_name.h"

static void fill(u8 *p, size_t n, u8 seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (u8)(seed + i * 7);
}

static void test_memcpy(void **)
{
	u8 src[64], dst[64];

	fill(src, sizeof(src), 1);
	for (size_t n = 0; n <= 40; n++) {
		fill(dst, sizeof(dst), 99);
		assert_ptr_equal(lwk_memcpy(dst + 3, src + 5, n), dst + 3);
		for (size_t i = 0; i < sizeof(dst); i++)
			assert_int_equal(dst[i],
					 i >= 3 && i < 3 + n ? src[i + 2] : (u8)(99 + i * 7));
	}
}

/* All overlaps of two windows within one buffer. */
static void test_memmove(void **)
{
	u8 before[48], buf[48];

	fill(before, sizeof(before), 5);
	for (size_t from = 0; from < 16; from++) {
		for (size_t to = 0; to < 16; to++) {
			for (size_t n = 0; n <= 32; n += 4) {
				fill(buf, sizeof(buf), 5);
				assert_ptr_equal(lwk_memmove(buf + to, buf + from, n), buf + to);
				for (size_t i = 0; i < sizeof(buf); i++)
					assert_int_equal(buf[i], i >= to && i < to + n
									 ? before[i - to + from]
									 : before[i]);
			}
		}
	}
}

static void test_memset(void **)
{
	u8 buf[16];

	fill(buf, sizeof(buf), 0);
	assert_ptr_equal(lwk_memset(buf + 4, 0x1ab, 7), buf + 4);
	for (size_t i = 0; i < sizeof(buf); i++)
		assert_int_equal(buf[i], i >= 4 && i < 11 ? 0xab : (u8)(i * 7));
}

static void test_memcmp(void **)
{
	assert_int_equal(lwk_memcmp("abc", "abd", 2), 0);
	assert_true(lwk_memcmp("abc", "abd", 3) < 0);
	assert_true(lwk_memcmp("\x80", "\x7f", 1) > 0); /* bytes are unsigned */
	assert_int_equal(lwk_memcmp("a", "b", 0), 0);
	assert_true(lwk_memcmp("a\0b", "a\0a", 3) > 0);
}

static void test_lengths(void **)
{
	const char unterminated[3] = { 'x', 'y', 'z' };

	assert_int_equal(lwk_strlen(""), 0);
	assert_int_equal(lwk_strlen("four"), 4);
	assert_int_equal(lwk_strnlen("four", 2), 2);
	assert_int_equal(lwk_strnlen("four", 9), 4);
	assert_int_equal(lwk_strnlen(unterminated, sizeof(unterminated)), 3);
}

static void test_compare(void **)
{
	assert_int_equal(lwk_strcmp("", ""), 0);
	assert_int_equal(lwk_strcmp("same", "same"), 0);
	assert_true(lwk_strcmp("a", "ab") < 0);
	assert_true(lwk_strcmp("ab", "a") > 0);
	assert_true(lwk_strcmp("\xff", "a") > 0); /* compared as unsigned char, 7.24.4 */
	assert_int_equal(lwk_strncmp("abX", "abY", 2), 0);
	assert_true(lwk_strncmp("abX", "abY", 3) < 0);
	assert_int_equal(lwk_strncmp("ab\0X", "ab\0Y", 4), 0);
}

static void test_strchr(void **)
{
	const char *s = "key=value=x";

	assert_ptr_equal(lwk_strchr(s, '='), s + 3);
	assert_ptr_equal(lwk_strchr(s, 'x'), s + 10);
	/* the terminator is part of the string, 7.24.5.2 */
	assert_ptr_equal(lwk_strchr(s, 0), s + 11);
	assert_null(lwk_strchr(s, 'q'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memcpy),  cmocka_unit_test(test_memmove),
		cmocka_unit_test(test_memset),  cmocka_unit_test(test_memcmp),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_compare),
		cmocka_unit_test(test_strchr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
