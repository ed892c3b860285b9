/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/printk.c */
/* The log across a reset: what the next boot finds of it, and that it finds nothing where a byte of it has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/log_keep.c"

#include "kernel/console/console.h"

static char said[200000];
static unsigned shown_lines;

void console_log(const char *, size_t)
{
	shown_lines++;
}

void *host_pages_alloc(unsigned count, int)
{
	return calloc(count, PAGE_SIZE);
}

size_t log_time(char *, size_t)
{
	return 0;
}

static void say(const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s|", text);
}

static const char *last(unsigned lines)
{
	said[0] = 0;
	return host_log_before(lines, say) ? said : NULL;
}

/* The machine starts anew: all but that is as at power-on. */
static void boot(void)
{
	kept = NULL;
	free(before);
	before = NULL;
	before_size = 0;
	log_keep();
}

static int reset(void **)
{
	memset(&area, 0x5a, sizeof(area));
	boot();
	return 0;
}

static void test_lines(void **)
{
	assert_null(last(5));
	printk_error("one");
	host_log("vm0: two");
	boot();
	assert_string_equal(last(2), "margay: one|vm0: two|");
	assert_string_equal(last(1), "vm0: two|");
	assert_string_equal(last(0), "");
	/* That line is the new boot's, which the one after it finds. */
	boot();
	assert_non_null(strstr(last(1), "lines of the boot before this one are left: log before shows them|"));
	/* Lines of before there was a place for them are there, too. */
	assert_non_null(strstr(last(~0u), "margay: one|"));
	/* Switched off. */
	memset(&area, 0, sizeof(area));
	boot();
	assert_null(last(1));
}

/* What the log alone has is kept, too, and is on the line only with loglevel=debug. */
static void test_quiet(void **)
{
	unsigned before_it = shown_lines;

	host_log_quiet("%s: > %s", "vm0", "its last");
	assert_int_equal(shown_lines, before_it);
	printk_set_level(LOGLEVEL_DEBUG);
	host_log_quiet("vm0: > %u", 2);
	assert_int_equal(shown_lines, before_it + 1);
	printk_set_level(LOGLEVEL_INFO);
	boot();
	assert_string_equal(last(2), "vm0: > its last|vm0: > 2|");
}

static void test_full(void **)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 10000; i++)
		host_log("a line of the log, number %05u", i);
	boot();
	assert_string_equal(last(2), "a line of the log, number 09998|a line of the log, number 09999|");
	last(~0u);
	for (const char *p = said; *p; p++)
		n += *p == '|';
	assert_int_equal(n, PRINTK_RING / 32 - 1); /* the oldest may be cut */
	assert_int_equal(strncmp(said, "a line of the log, number ", 26), 0);
}

/* A bit of any byte; two bytes in the wrong order; a word of the head. */
static void test_changed(void **)
{
	static struct kept good;
	struct kept *k = &area;

	for (unsigned i = 0; i < 3000; i++)
		host_log("line %u", i);
	good = *k;
	for (size_t at = 0; at < sizeof(*k); at += at < 64 ? 1 : 61) {
		*k = good;
		((u8 *)k)[at] ^= 1u << at % 8;
		assert_false(valid(k));
	}
	*k = good;
	k->ring[100] = good.ring[101];
	k->ring[101] = good.ring[100];
	assert_int_equal(valid(k), good.ring[100] == good.ring[101]);
	*k = good;
	assert_true(valid(k));
	boot();
	assert_string_equal(last(1), "line 2999|");
}

/* A checksum can be had for anything: it is shown as text, and in lines. */
static void test_hostile(void **)
{
	struct kept *k = &area;

	log_keep_add("\x1b[2J\xff", 5);
	boot();
	assert_string_equal(last(1), "?[2J?|");
	for (unsigned i = 0; i < PRINTK_RING; i++)
		put(k, 'x');
	k->head += 1ull << 63;
	k->check = check_of(k);
	boot();
	assert_null(last(3)); /* no line in it is whole */
	put(k, '\n');
	put(k, 'y');
	k->check = check_of(k);
	boot();
	assert_string_equal(last(1), "y|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lines, reset), cmocka_unit_test_setup(test_quiet, reset),
		cmocka_unit_test_setup(test_full, reset),
		cmocka_unit_test_setup(test_changed, reset), cmocka_unit_test_setup(test_hostile, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
