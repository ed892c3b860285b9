/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/rtc_time.c kernel/console/log_time.c */
/* The time in front of a line, and the wall clock's line against the C library's calendar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <margay/host.h>
#include "kernel/console/log_parts.h"

static u64 tsc, khz, wall;
static char said[128];

u64 host_tsc(void)
{
	return tsc;
}

u64 host_tsc_khz(void)
{
	return khz;
}

u64 host_wall_clock(u64 *at)
{
	*at = tsc;
	return wall;
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

extern const struct log_part *const __start_log_parts[];

static const char *stamp(u64 at)
{
	static char text[32];

	tsc = at;
	memset(text, 'x', sizeof(text));
	text[__start_log_parts[0]->stamp(text, sizeof(text))] = 0;
	return text;
}

static void test_stamp(void **)
{
	const u64 first = 1ull << 63;

	/* Before the rate is known. */
	assert_string_equal(stamp(first), "[    0.000] ");
	assert_string_equal(stamp(first + 123456789), "[    0.000] ");
	khz = 2000000;
	assert_string_equal(stamp(first + 1999999), "[    0.000] ");
	assert_string_equal(stamp(first + 2000000), "[    0.001] ");
	assert_string_equal(stamp(first + 12345678ull * 2000000), "[12345.678] ");
	assert_string_equal(stamp(first + 1000000000ull * 2000000), "[1000000.000] ");
	/* Another CPU's. */
	assert_string_equal(stamp(first - 1), "[    0.000] ");
	host_log_times(false);
	assert_string_equal(stamp(first + 2000000), "");
	host_log_times(true);
	assert_string_equal(stamp(first + 2000000), "[    0.001] ");
}

static void test_wall(void **)
{
	char expected[128];

	for (u64 day = 1; day < 200000; day++) {
		time_t at = (time_t)(day * 86400 + day * 7919 % 86400);
		struct tm t;

		wall = (u64)at * 1000000000 + 999999999;
		log_time_tell();
		gmtime_r(&at, &t);
		strftime(expected, sizeof(expected), "clock: %Y-%m-%d %H:%M:%S UTC", &t);
		assert_string_equal(said, expected);
	}
	wall = 86399ull * 1000000000;
	log_time_tell();
	assert_string_equal(said, "clock: the machine's shows no date");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stamp),
					    cmocka_unit_test(test_wall) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
