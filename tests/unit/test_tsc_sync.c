/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/tsc_sync.c */
/*
 * Differences between two TSCs: exchanges made up with a known difference, which must be found,
 * never exceeded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "arch/x86_64/cpu/tsc_sync.h"

static void test_same(void **)
{
	const struct tsc_exchange e[] = { { 1000, 1040, 1100 },
					  { 2000, 2000, 2060 },
					  { 3000, 3050, 3050 } };

	assert_int_equal(tsc_difference(e, 3), 0);
}

static void test_ahead(void **)
{
	/* answered there at 1040 and 2030 of our time, 500 ahead */
	const struct tsc_exchange e[] = { { 1000, 1540, 1100 }, { 2000, 2530, 2060 } };

	assert_int_equal(tsc_difference(e, 1), 440); /* 1540 - 1100 */
	/* 2530 - 2060: the faster exchange tells more */
	assert_int_equal(tsc_difference(e, 2), 470);
}

static void test_behind(void **)
{
	/* answered at 1040 and 2030, 500 behind */
	const struct tsc_exchange e[] = { { 1000, 540, 1100 }, { 2000, 1530, 2060 } };

	assert_int_equal(tsc_difference(e, 1), -460); /* 540 - 1000 */
	assert_int_equal(tsc_difference(e, 2), -470);
}

static void test_smaller_than_exchange(void **)
{
	/* 20 ahead, each exchange takes 100: not to be seen by itself ... */
	const struct tsc_exchange middle[] = { { 1000, 1070, 1100 }, { 2000, 2070, 2100 } };
	/* ... but by two that lean to either side: answered at once, and 5 before the end */
	const struct tsc_exchange sides[] = { { 1000, 1020, 1100 }, { 2000, 2115, 2100 } };

	assert_int_equal(tsc_difference(middle, 2), 0);
	assert_int_equal(tsc_difference(sides, 2), 15);
}

static void test_drift(void **)
{
	/* first 100 ahead at least, then 100 behind: no constant difference explains both */
	const struct tsc_exchange e[] = { { 1000, 1200, 1100 }, { 2000, 1900, 2100 } };

	assert_int_not_equal(tsc_difference(e, 2), 0);
}

static void test_wrap(void **)
{
	/* a TSC that began close below 2^64 */
	const struct tsc_exchange same = { UINT64_MAX - 10, 5, 20 },
				  ahead = { UINT64_MAX - 10, 120, 20 };

	assert_int_equal(tsc_difference(&same, 1), 0);
	assert_int_equal(tsc_difference(&ahead, 1), 100);
	assert_int_equal(tsc_middle(&ahead, 1), 115);
}

/*
 * Whatever the delays: never more than the true difference, never of the wrong sign, and exact but
 * for the fastest exchange.
 */
static void test_random(void **)
{
	srand(1);
	for (unsigned n = 0; n < 20000; n++) {
		s64 truth = rand() % 4001 - 2000, found;
		u64 at = 1u << 20, fastest = UINT64_MAX;
		struct tsc_exchange e[8];

		for (unsigned i = 0; i < 8; i++) {
			u64 there = at + (u64)(rand() % 300), back = there + (u64)(rand() % 300);

			e[i] = (struct tsc_exchange){ at, there + (u64)truth, back };
			fastest = back - at < fastest ? back - at : fastest;
			at = back + 50;
		}
		found = tsc_difference(e, 8);
		assert_true(truth >= 0 ? found >= 0 && found <= truth
				       : found <= 0 && found >= truth);
		assert_true((u64)llabs(truth - found) <= fastest);
		assert_true((u64)llabs(truth - tsc_middle(e, 8)) <= fastest / 2 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),   cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_behind), cmocka_unit_test(test_smaller_than_exchange),
		cmocka_unit_test(test_drift),  cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
