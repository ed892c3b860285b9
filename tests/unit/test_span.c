/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/span.c */
/* Pieces of text, in memory that ends where they do, so that the sanitizer sees a byte too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <margay/span.h>

static char *memory;

static struct span exact(const char *text)
{
	size_t n = strlen(text);

	free(memory);
	memory = malloc(n ? n : 1);
	memcpy(memory, text, n);
	return (struct span){ memory, n };
}

static int teardown(void **)
{
	free(memory);
	memory = NULL;
	return 0;
}

static void assert_rest(struct span s, const char *rest)
{
	assert_true(span_is(s, rest));
}

static void test_trim(void **)
{
	assert_rest(span_trim(exact(" \t a b\t ")), "a b");
	assert_rest(span_trim(exact(" \t")), "");
	assert_rest(span_trim(exact("")), "");
	assert_rest(span_trim(exact("\na\r")), "\na\r");
}

static void test_words(void **)
{
	struct span s = exact("console=com1");

	assert_false(span_is(s, "console="));
	assert_false(span_is(exact("com"), "com1"));
	s = exact("console=com1");
	assert_false(span_skip(&s, "consul"));
	assert_false(span_skip(&s, "console=com1,"));
	assert_rest(s, "console=com1");
	assert_true(span_skip(&s, "console="));
	assert_rest(s, "com1");
	assert_true(span_skip(&s, "com1"));
	assert_int_equal(s.n, 0);
	assert_rest(span_of("abc"), "abc");
}

static void test_parts(void **)
{
	struct span s = exact("a,,bc");
	bool more;

	assert_rest(span_part(&s, ',', &more), "a");
	assert_true(more);
	assert_rest(span_part(&s, ',', &more), "");
	assert_true(more);
	assert_rest(span_part(&s, ',', &more), "bc");
	assert_false(more);
	assert_int_equal(s.n, 0);
	s = exact("a,");
	assert_rest(span_part(&s, ',', &more), "a");
	assert_true(more);
	assert_int_equal(s.n, 0);
}

static void is_number(const char *text, unsigned base, u64 value, const char *rest)
{
	struct span s = exact(text);
	u64 v = 1;

	assert_true(span_number(&s, base, &v));
	assert_int_equal(v, value);
	assert_rest(s, rest);
}

static void no_number(const char *text, unsigned base)
{
	struct span s = exact(text);
	u64 v;

	assert_false(span_number(&s, base, &v));
}

static void test_numbers(void **)
{
	is_number("0", 10, 0, "");
	is_number("0012-3", 10, 12, "-3");
	is_number("9a", 10, 9, "a");
	is_number("18446744073709551615", 10, ~0ull, "");
	no_number("18446744073709551616", 10);
	no_number("18446744073709551620", 10);
	no_number("99999999999999999999", 10);
	no_number("", 10);
	no_number("-1", 10);
	no_number("a", 10);
	is_number("0fF9g", 16, 0xff9, "g");
	is_number("ffffffffffffffff", 16, ~0ull, "");
	no_number("10000000000000000", 16);
	no_number("@", 16);
}

static void test_digits(void **)
{
	static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";

	for (int c = -128; c < 128; c++) {
		const char *small = c ? memchr(digits, c, 16) : NULL,
			   *capital = c ? memchr(capitals, c, 16) : NULL;

		long value = capital ? capital - capitals : -1;

		assert_int_equal(hex_digit((char)c), small ? small - digits : value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_trim, teardown),
		cmocka_unit_test_teardown(test_words, teardown),
		cmocka_unit_test_teardown(test_parts, teardown),
		cmocka_unit_test_teardown(test_numbers, teardown),
		cmocka_unit_test(test_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
