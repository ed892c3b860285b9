/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/rtc_time.c */
/* CMOS clock to seconds; the expected values come from the C library's timegm(). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <margay/rtc.h>

#define H24 0x02
#define BINARY 0x04

static u8 bcd(int v)
{
	return (u8)(v / 10 << 4 | v % 10);
}

static struct rtc_registers encode(const struct tm *t, u8 status_b, bool century)
{
	int hour = t->tm_hour;
	u8 pm = 0;
	struct rtc_registers r = { .status_b = status_b, .has_century = century };
	int year = t->tm_year + 1900;

	if (!(status_b & H24)) {
		pm = hour >= 12 ? 0x80 : 0;
		hour = hour % 12 ? hour % 12 : 12;
	}
#define ENC(v) (status_b & BINARY ? (u8)(v) : bcd(v))
	r.second = ENC(t->tm_sec);
	r.minute = ENC(t->tm_min);
	r.hour = ENC(hour) | pm;
	r.day = ENC(t->tm_mday);
	r.month = ENC(t->tm_mon + 1);
	r.year = ENC(year % 100);
	r.century = ENC(year / 100);
	return r;
}

/* One time of day in each of some 2,000 days from 1970 to 2399, in all four encodings. */
static void test_against_timegm(void **)
{
	for (long long t = 0; t < 13569465600; t += 86400 * 79 + 3607) {
		time_t when = (time_t)t;
		struct tm tm;

		gmtime_r(&when, &tm);
		for (u8 mode = 0; mode < 8; mode += 2) {
			struct rtc_registers r = encode(&tm, mode, true);
			u64 seconds = 0;

			assert_int_equal(rtc_to_seconds(&r, &seconds), 0);
			assert_int_equal(seconds, timegm(&tm));
		}
	}
}

static struct rtc_registers date(u8 year, u8 month, u8 day)
{
	return (struct rtc_registers){
		.day = day, .month = month, .year = year, .status_b = H24 | BINARY
	};
}

static void test_century_guess(void **)
{
	struct rtc_registers r = date(70, 1, 1);
	u64 s;

	assert_int_equal(rtc_to_seconds(&r, &s), 0);
	assert_int_equal(s, 0);
	r = date(69, 1, 1);
	assert_int_equal(rtc_to_seconds(&r, &s), 0);
	assert_int_equal(s, 3124224000); /* date -u -d 2069-01-01 +%s */
	r = date(26, 1, 1);
	r.has_century = true;
	r.century = 0; /* nonsense: ignored */
	assert_int_equal(rtc_to_seconds(&r, &s), 0);
	assert_int_equal(s, 1767225600); /* date -u -d 2026-01-01 +%s */
}

static void test_leap_days(void **)
{
	struct rtc_registers r = date(24, 2, 29);
	u64 s;

	assert_int_equal(rtc_to_seconds(&r, &s), 0);
	assert_int_equal(s, 1709164800); /* date -u -d 2024-02-29 +%s */
	r = date(23, 2, 29);
	assert_int_equal(rtc_to_seconds(&r, &s), -EINVAL);
	r = date(0, 2, 29);
	r.has_century = true;
	r.century = 21; /* 2100 is no leap year */
	assert_int_equal(rtc_to_seconds(&r, &s), -EINVAL);
	r.century = 20;
	assert_int_equal(rtc_to_seconds(&r, &s), 0);
}

static void test_invalid(void **)
{
	static const struct rtc_registers bad[] = {
		{ .second = 60, .day = 1, .month = 1, .status_b = H24 | BINARY },
		{ .minute = 60, .day = 1, .month = 1, .status_b = H24 | BINARY },
		{ .hour = 24, .day = 1, .month = 1, .status_b = H24 | BINARY },
		{ .hour = 0, .day = 1, .month = 1, .status_b = BINARY },
		{ .hour = 13, .day = 1, .month = 1, .status_b = BINARY },
		{ .day = 0, .month = 1, .status_b = H24 | BINARY },
		{ .day = 32, .month = 1, .status_b = H24 | BINARY },
		{ .day = 31, .month = 4, .status_b = H24 | BINARY },
		{ .day = 1, .month = 0, .status_b = H24 | BINARY },
		{ .day = 1, .month = 13, .status_b = H24 | BINARY },
		{ .day = 1, .month = 1, .year = 100, .status_b = H24 | BINARY },
		{ .second = 0x0a, .day = 1, .month = 1, .status_b = H24 },
		{ .day = 0xa0, .month = 1, .status_b = H24 },
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, true }, /* no clock: all ones */
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, false },
		{ 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		u64 s;

		assert_int_equal(rtc_to_seconds(&bad[i], &s), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_timegm),
		cmocka_unit_test(test_century_guess),
		cmocka_unit_test(test_leap_days),
		cmocka_unit_test(test_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
