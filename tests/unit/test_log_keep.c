/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/log_last.c kernel/log/printk.c */
/*
 * The log across a reset: what the next boot finds of it, and that it finds nothing where a byte of
 * it has changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"

static void fake_clflush(const void *p);
#define cpu_clflush(p) fake_clflush(p)

#include "kernel/console/log_keep.c"

/* what a reset leaves of the area: only what was flushed has come out of the caches */
static struct kept memory;
static char said[200000];
static unsigned shown_lines;
static bool no_pages;

static void fake_clflush(const void *p)
{
	size_t line = ((uintptr_t)p - (uintptr_t)&area) & ~63ul;

	assert_true(line < sizeof(area));
	memcpy((u8 *)&memory + line, (u8 *)&area + line, MIN(64, sizeof(area) - line));
}

static void show(const char *, size_t)
{
	shown_lines++;
}

static const struct log_part shows = { .show = show };
LOG_PART(shows);

void *host_pages_alloc(unsigned count, int)
{
	return no_pages ? NULL : calloc(count, PAGE_SIZE);
}

static void say(const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s|", text);
}

static const char *last(unsigned lines)
{
	said[0] = 0;
	return host_log_last(1, lines, say) ? said : NULL;
}

/* The machine starts anew: all but that is as at power-on. */
static void boot(void)
{
	area = memory;
	kept = NULL;
	free(log_before);
	log_before = NULL;
	lines_left = 0;
	log_keep();
}

static int reset(void **)
{
	memset(&memory, 0x5a, sizeof(memory));
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
	assert_null(strstr(last(~0u), "are left"));
	/* That line is the new boot's, which the one after it finds. */
	boot();
	assert_non_null(strstr(
		last(1), "lines of the boot before this one are left: log before shows them|"));
	/* Lines of before there was a place for them are there, too. */
	assert_non_null(strstr(last(~0u), "margay: one|"));
	/* Switched off. */
	memset(&memory, 0, sizeof(memory));
	assert_false(valid(&memory));
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

/* After each line all is where a reset leaves it, wherever in a cache line that line ends. */
static void test_flushed(void **)
{
	for (unsigned i = 0; i < 600; i++) {
		host_log("%*u", 1 + i * 7 % 250, i);
		assert_true(valid(&memory));
	}
	boot();
	assert_non_null(strstr(last(1), "599|"));
}

static void test_full(void **)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 10000; i++)
		host_log("a line of the log, number %05u", i);
	boot();
	assert_string_equal(last(2),
			    "a line of the log, number 09998|a line of the log, number 09999|");
	last(~0u);
	for (const char *p = said; *p; p++)
		n += *p == '|';
	assert_int_equal(n, PRINTK_RING / 33); /* the oldest is cut */
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
	for (size_t at = 0; at < offsetof(struct kept, sum) + sizeof(k->sum);
	     at += at < PRINTK_RING - 61 ? 61 : 1) {
		*k = good;
		((u8 *)k)[at] ^= 1u << at % 8;
		assert_false(valid(k));
	}
	*k = good;
	k->log.text[100] = good.log.text[101];
	k->log.text[101] = good.log.text[100];
	assert_int_equal(valid(k), good.log.text[100] == good.log.text[101]);
	*k = good;
	assert_true(valid(k));
	boot();
	assert_string_equal(last(1), "line 2999|");
	/* No memory for it: as if nothing had been left. */
	no_pages = true;
	boot();
	no_pages = false;
	assert_null(last(1));
}

/* A checksum can be had for anything. */
static void forge(u64 head)
{
	area.sum += (head - area.log.head) * HEAD_WEIGHT;
	area.log.head = head;
	memory = area;
	boot();
}

/* It is shown as text, and in lines. */
static void test_hostile(void **)
{
	log_keep_add(LOGLEVEL_ERROR, "\x1b[2J\xff\x7f~ \t", 9);
	boot();
	assert_string_equal(last(1), "?[2J??~ ?|");
	/* No line in it is whole. */
	for (unsigned i = 0; i < PRINTK_RING; i++)
		put(&area, 'x');
	forge(area.log.head + (1ull << 63));
	assert_string_equal(last(3), "");
	for (unsigned i = 0; i < PRINTK_RING; i++)
		put(&area, 'x');
	forge(~0ull);
	assert_string_equal(last(3), "");
	/* A line of the whole ring, which nothing ends. */
	for (unsigned i = 0; i < PRINTK_RING; i++)
		put(&area, 'x');
	forge(PRINTK_RING);
	assert_int_equal(strlen(last(~0u)), HOST_LOG_LINE + 1);
	/* Lines without a level. */
	put(&area, '\n');
	put(&area, '\n');
	put(&area, '\n');
	put(&area, 'y');
	forge(area.log.head);
	assert_string_equal(last(1), "y|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lines, reset),
		cmocka_unit_test_setup(test_quiet, reset),
		cmocka_unit_test_setup(test_flushed, reset),
		cmocka_unit_test_setup(test_full, reset),
		cmocka_unit_test_setup(test_changed, reset),
		cmocka_unit_test_setup(test_hostile, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
