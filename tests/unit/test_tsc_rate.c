/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/tsc_rate.c */
/* The TSC's rate from CPUID 15H and from ticks. Expected values: SDM vol. 3, 18.7.3, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "arch/x86_64/cpu/tsc.h"

static void test_cpuid(void **state)
{
	(void)state;
	/* Skylake client: 24 MHz * 216 / 2 = 2592 MHz */
	assert_int_equal(tsc_khz_from_cpuid(2, 216, 24000000), 2592000);
	/* Skylake-SP: 25 MHz * 168 / 2 = 2100 MHz */
	assert_int_equal(tsc_khz_from_cpuid(2, 168, 25000000), 2100000);
	/* Goldmont: 19.2 MHz * 171 / 3 = 1094.4 MHz */
	assert_int_equal(tsc_khz_from_cpuid(3, 171, 19200000), 1094400);
	/* the crystal is not enumerated, or the ratio is not */
	assert_int_equal(tsc_khz_from_cpuid(2, 216, 0), 0);
	assert_int_equal(tsc_khz_from_cpuid(0, 216, 24000000), 0);
	assert_int_equal(tsc_khz_from_cpuid(2, 0, 24000000), 0);
	/* largest fields: (2^32 - 1)^2 Hz = 18446744065119617025 Hz */
	assert_int_equal(tsc_khz_from_cpuid(1, UINT32_MAX, UINT32_MAX), 18446744065119617);
}

static void test_ticks(void **state)
{
	(void)state;
	/* 50 ms of a 3 GHz TSC beside a 14.31818 MHz HPET (715909 ticks): within 1 ppm of 3 GHz */
	assert_in_range(tsc_khz_from_ticks(150000000, 715909, 14318180), 2999997, 3000003);
	/* one second of a PM timer, 1 GHz */
	assert_int_equal(tsc_khz_from_ticks(1000000000, 3579545, 3579545), 1000000);
	/* rounds to the nearest kHz */
	assert_int_equal(tsc_khz_from_ticks(1499, 1, 1), 1);
	assert_int_equal(tsc_khz_from_ticks(1500, 1, 1), 2);
	/* a clock that stands still; a product that does not fit */
	assert_int_equal(tsc_khz_from_ticks(1000, 0, 3579545), 0);
	assert_int_equal(tsc_khz_from_ticks(1ull << 40, 1, 1ull << 30), 0);
}

static void test_choice(void **state)
{
	(void)state;
	assert_int_equal(tsc_choose_khz(0, 0), 0);
	assert_int_equal(tsc_choose_khz(2592000, 0), 2592000);
	assert_int_equal(tsc_choose_khz(0, 2591990), 2591990);
	/* within 1 %, either side: the enumerated value is the exact one */
	assert_int_equal(tsc_choose_khz(1010000, 1000000), 1010000);
	assert_int_equal(tsc_choose_khz(990000, 1000000), 990000);
	/* beyond: Bochs' skylake_x says 3.5 GHz and runs at 50 MHz */
	assert_int_equal(tsc_choose_khz(1010001, 1000000), 1000000);
	assert_int_equal(tsc_choose_khz(989999, 1000000), 1000000);
	assert_int_equal(tsc_choose_khz(3500000, 50000), 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpuid),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
