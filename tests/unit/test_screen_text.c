/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/screen_text.c */
/* The screen's text: wrapping, scrolling, controls, sequences that are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/console/screen_text.h"

#define COLUMNS 10
#define ROWS 4

static struct screen_text t;

static void begin(void)
{
	memset(&t, 0xee, sizeof(t));
	screen_text_init(&t, COLUMNS, ROWS);
}

static void put(const char *text)
{
	for (; *text; text++)
		screen_text_put(&t, (u8)*text);
}

static void row_is(unsigned row, const char *text)
{
	char wanted[COLUMNS + 1], got[COLUMNS + 1] = { 0 };

	memset(wanted, ' ', COLUMNS);
	wanted[COLUMNS] = 0;
	memcpy(wanted, text, strlen(text));
	memcpy(got, screen_text_row(&t, row), COLUMNS);
	assert_string_equal(got, wanted);
}

static void shows(const char *text, const char *r0, const char *r1, const char *r2, const char *r3)
{
	begin();
	put(text);
	row_is(0, r0);
	row_is(1, r1);
	row_is(2, r2);
	row_is(3, r3);
}

static void test_lines(void **)
{
	shows("", "", "", "", "");
	shows("one\r\ntwo\nthree", "one", "two", "three", "");
	shows("a\n\nb", "a", "", "b", "");
	shows("12345\rab", "ab345", "", "", "");
	shows("ab\bc", "ac", "", "", "");
	shows("\b\bx", "x", "", "", "");
	shows("a\tb", "a       b", "", "", "");
	shows("a\tb\tc", "a       bc", "", "", "");
	shows("a\tb\tcd", "a       bc", "d", "", "");
	shows("a\x01\x07\x0b\x0c\x0e\x7f"
	      "b",
	      "ab", "", "", "");
}

static void test_wrap(void **)
{
	shows("0123456789", "0123456789", "", "", "");
	/* A line as long as the screen is wide is one line. */
	shows("0123456789\r\nx", "0123456789", "x", "", "");
	shows("0123456789x", "0123456789", "x", "", "");
	shows("0123456789\rx", "x123456789", "", "", "");
	shows("0123456789\bx", "012345678x", "", "", "");
	shows("0123456789abcdefghijKLM\nn", "0123456789", "abcdefghij", "KLM", "n");
}

static void test_scroll(void **)
{
	shows("1\n2\n3\n4", "1", "2", "3", "4");
	shows("1\n2\n3\n4\n", "2", "3", "4", "");
	shows("1\n2\n3\n4444\n5\n6", "3", "4444", "5", "6");
	shows("1\n2\n3\n0123456789abc", "2", "3", "0123456789", "abc");
	/* Round and round; how many lines there were can be asked. */
	begin();
	for (unsigned i = 0; i < 101; i++)
		put("x\r\n");
	put("last but one\r\n");
	put("\n");
	row_is(0, "last but o");
	row_is(1, "ne");
	row_is(2, "");
	assert_int_equal(t.begun, 104);
	assert_int_equal(t.row, ROWS - 1);
}

static void test_escapes(void **)
{
	/* Left out, with their numbers. */
	shows("a\x1b[31mb\x1b[0;1;4mc\x1b[2Jd\x1b[Hx\x1b[12;40Hy", "abcdxy", "", "", "");
	shows("a\x1b[?25lb\x1b[>cd", "abd", "", "", "");
	shows("a\x1b(Bb\x1b#8c\x1b=d\x1b"
	      "7e\x1b%Gf",
	      "abcdef", "", "", "");
	/* Strings, to BEL or ESC \. */
	shows("a\x1b]0;title\x07"
	      "b\x1bPdata\x1b\\c\x1b^x\x1b\\d",
	      "abcd", "", "", "");
	/* One that does not end takes its line only. */
	shows("a\x1b]0;title\nb\x1b[12\nc", "a", "b", "c", "");
	/* One in another, and a control in one. */
	shows("a\x1b\x1b[1mb\x1b[3\x1b[4mc\x1b[1\rmd", "dbc", "", "", "");
	/* What is behind the cursor. */
	shows("hello\rab\x1b[K", "ab", "", "", "");
	shows("hello\rab\x1b[Jc", "abc", "", "", "");
	shows("hello\rab\x1b[1Kc\x1b[2J", "abclo", "", "", "");
	shows("hello\rab\x1b[m", "abllo", "", "", "");
	shows("0123456789\x1b[K", "0123456789", "", "", "");
}

static void test_other_bytes(void **)
{
	/* A question mark for each character of UTF-8. */
	shows("a\xc3\xa4"
	      "b\xe2\x82\xac"
	      "c\xf0\x9f\x98\x80"
	      "d",
	      "a?b?c?d", "", "", "");
	shows("\x80\xbf\x9b"
	      "x",
	      "x", "", "", "");
	shows("a\x1b]\xc3\xa4\x07"
	      "b",
	      "ab", "", "", "");
}

/* Whatever comes: only printable characters, and the cursor stays on the screen. */
static void test_noise(void **)
{
	u32 seed = 1;

	for (unsigned round = 0; round < 200; round++) {
		screen_text_init(&t, 1 + round % RASTER_COLUMNS, 1 + round % RASTER_ROWS);
		for (unsigned i = 0; i < 2000; i++) {
			seed = seed * 1664525 + 1013904223;
			screen_text_put(&t, (u8)(seed >> 24 & (round & 1 ? 0xff : 0x1f)));
			assert_true(t.column <= t.columns && t.row < t.rows && t.top < t.rows);
		}
		for (unsigned row = 0; row < t.rows; row++)
			for (unsigned i = 0; i < t.columns; i++)
				assert_in_range(screen_text_row(&t, row)[i], 0x20, 0x7e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),       cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_scroll),      cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_other_bytes), cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
