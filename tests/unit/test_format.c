/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/format.c lib/string.c */
/*
 * The image's vsnprintf (as lwk_snprintf): expectations from ISO C 7.21.6.1, the host's as a second
 * opinion.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "lib/libc_name.h"

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-overflow"

#define EXPECT(text, ...) \
	do { \
		char got[128]; \
		assert_int_equal(lwk_snprintf(got, sizeof(got), __VA_ARGS__), strlen(text)); \
		assert_string_equal(got, text); \
	} while (0)

/* Both implementations on the same arguments. */
#define AGREE(...) \
	do { \
		char got[256], want[256]; \
		assert_int_equal(lwk_snprintf(got, sizeof(got), __VA_ARGS__), \
				 snprintf(want, sizeof(want), __VA_ARGS__)); \
		assert_string_equal(got, want); \
	} while (0)

static void test_plain(void **)
{
	EXPECT("", "%s", "");
	EXPECT("100%", "%d%%", 100);
	EXPECT("a b", "%c %c", 'a', 'b');
	EXPECT("(null)", "%s", (char *)NULL);
}

static void test_limits(void **)
{
	EXPECT("-2147483648", "%d", INT32_MIN);
	EXPECT("-9223372036854775808", "%ld", INT64_MIN);
	EXPECT("18446744073709551615", "%lu", UINT64_MAX);
	EXPECT("ffffffffffffffff", "%llx", (long long)-1);
	EXPECT("18446744073709551615", "%zu", SIZE_MAX);
}

static void test_flags(void **)
{
	EXPECT("[  42][42  ][0042]", "[%4d][%-4d][%04d]", 42, 42, 42);
	EXPECT("[-042][ -42]", "[%04d][%4d]", -42, -42);
	EXPECT("0x2a 0 0x00002a", "%#x %#x %#08x", 42, 0, 42);
	EXPECT("[  abc][abc  ][ab]", "[%5s][%-5s][%.2s]", "abc", "abc", "abc");
	EXPECT("[  7][7  ][007]", "[%*d][%-*d][%.*d]", 3, 7, 3, 7, 3, 7);
	EXPECT("[7  ]", "[%*d]", -3, 7);
	EXPECT("[]", "[%.0d]", 0);
}

static void test_against_host(void **)
{
	static const long values[] = { 0,   1,     -1,        9,         10,        42,       -42,
				       255, 65535, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		for (int width = -24; width <= 24; width++) {
			AGREE("%*ld|%*lx|%*lu|%#*lx", width, values[i], width, values[i], width,
			      values[i], width, values[i]);
			AGREE("%0*ld|%#0*lx", width < 0 ? -width : width, values[i],
			      width < 0 ? -width : width, values[i]);
			AGREE("%24.*ld|%-24.*lx|%024.*lu", width, values[i], width, values[i],
			      width, values[i]);
		}
		AGREE("%d %u %x", (int)values[i], (int)values[i], (int)values[i]);
	}
}

/*
 * The buffer is never overrun (ASan watches), always terminated, and the full length is returned.
 */
static void test_truncation(void **)
{
	for (size_t size = 1; size <= 12; size++) {
		char *buf = test_malloc(size);

		assert_int_equal(lwk_snprintf(buf, size, "%s-%05d", "abc", 7), 9);
		assert_int_equal(strlen(buf), MIN(size - 1, 9u));
		assert_memory_equal(buf, "abc-00007", strlen(buf));
		test_free(buf);
	}
	assert_int_equal(lwk_snprintf(NULL, 0, "%d", 12345), 5);
}

/* %.*s must not read past its precision. */
static void test_unterminated(void **)
{
	const char three[3] = { 'x', 'y', 'z' };

	EXPECT("xyz", "%.*s", 3, three);
	EXPECT("  xy", "%4.2s", three);
}

/* What the subset does not know is shown, not skipped. */
static void test_unknown(void **)
{
	EXPECT("%q", "%q");
	EXPECT("%X", "%X", 1);
	EXPECT("%", "%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),      cmocka_unit_test(test_limits),
		cmocka_unit_test(test_flags),      cmocka_unit_test(test_against_host),
		cmocka_unit_test(test_truncation), cmocka_unit_test(test_unterminated),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
