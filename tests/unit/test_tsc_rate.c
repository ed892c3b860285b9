/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/tsc_rate.c */
/*
 * The TSC's rate from CPUID 15H (SDM vol. 3, 18.7.3, worked out by hand) and
 * from samples of made-up clocks, whose true rates are known: quantised,
 * jittered, interrupted by SMIs, wrapping. The bound must hold in every case.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "arch/x86_64/cpu/tsc.h"

static void test_cpuid(void **)
{
	/* Skylake client: 24 MHz * 216 / 2 = 2592 MHz */
	assert_int_equal(tsc_hz_from_cpuid(2, 216, 24000000), 2592000000);
	/* Skylake-SP: 25 MHz * 168 / 2 = 2100 MHz */
	assert_int_equal(tsc_hz_from_cpuid(2, 168, 25000000), 2100000000);
	/* 19.2 MHz * 172 / 3 = 1100.8 MHz; 38.4 MHz * 1 / 7, rounded */
	assert_int_equal(tsc_hz_from_cpuid(3, 172, 19200000), 1100800000);
	assert_int_equal(tsc_hz_from_cpuid(7, 1, 38400000), 5485714);
	assert_int_equal(tsc_hz_from_cpuid(7, 1, 38400002), 5485715);
	/* the crystal is not enumerated, or the ratio is not */
	assert_int_equal(tsc_hz_from_cpuid(2, 216, 0), 0);
	assert_int_equal(tsc_hz_from_cpuid(0, 216, 24000000), 0);
	assert_int_equal(tsc_hz_from_cpuid(2, 0, 24000000), 0);
	/* largest fields: (2^32 - 1)^2 */
	assert_int_equal(tsc_hz_from_cpuid(1, UINT32_MAX, UINT32_MAX), 18446744065119617025ull);
}

/* A machine with two clocks that run from second 0 on. */
struct machine {
	double tsc_hz;
	struct tsc_reference ref;
	/* ticks */
	double tsc_at_0;
	double ref_at_0;
	double read_s;             /* reading the reference takes this long at least ... */
	double jitter_s;           /* ... and up to this much longer, */
	unsigned smi_of_8;         /* but in so many of 8 cases another 200 us */
};

#define HPET { "HPET", 14318180000ull, ~0ull, NULL }
#define HPET32 { "HPET", 100000000000ull, 0xffffffff, NULL }
#define PMTIMER24 { "PM timer", 3579545000ull, 0xffffff, NULL }

static double uniform(double limit)
{
	return limit * rand() / RAND_MAX;
}

static double read_sample(const struct machine *m, double at, struct tsc_sample *s)
{
	double took = m->read_s + uniform(m->jitter_s), looked;

	if ((unsigned)rand() % 8 < m->smi_of_8)
		took += 200e-6;
	looked = at + uniform(took);
	s->before = (u64)floor(m->tsc_at_0 + at * m->tsc_hz);
	s->ref = (u64)floor(m->ref_at_0 + looked * (double)m->ref.mhz / 1000) & m->ref.mask;
	s->after = (u64)floor(m->tsc_at_0 + (at + took) * m->tsc_hz);
	return at + took;
}

static void read_moment(const struct machine *m, double at, struct tsc_moment *moment)
{
	for (unsigned i = 0; i < TSC_SAMPLES; i++)
		at = read_sample(m, at, &moment->sample[i]) + 20e-9;
}

/* The error in ppb is within the bound, and the bound as tight as the fastest reads allow. */
static void check(const struct machine *m, double seconds, u64 coarse_hz, double at_most_ppb)
{
	for (unsigned n = 0; n < 500; n++) {
		double begin = uniform(2), error;
		struct tsc_moment first, last;
		struct tsc_rate rate;

		read_moment(m, begin, &first);
		read_moment(m, begin + seconds, &last);
		assert_true(tsc_rate_estimate(&first, &last, &m->ref, coarse_hz, &rate));
		error = fabs((double)rate.hz / m->tsc_hz - 1) * 1e9;
		assert_true(error <= (double)rate.bound_ppb + 0.001);
		assert_true((double)rate.bound_ppb <= at_most_ppb);
	}
}

static void test_quantised(void **)
{
	/* reads of no length: what is left is the reference's tick, both ends, and the TSC's */
	const struct machine hpet = { 3e9, HPET, 0, 0, 0, 0, 0 },
			     slow = { 50e6, PMTIMER24, 0, 0, 0, 0, 0 };

	check(&hpet, 1, 0, 70 + 2);
	check(&hpet, 0.05, 0, 20 * 70 + 20);
	check(&slow, 1, 0, 280 + 50);
}

static void test_jittered(void **)
{
	const struct machine hpet = { 2095078123., HPET, 1e12, 7e9, 0.5e-6, 3e-6, 0 };
	const struct machine pm = { 3312000777., PMTIMER24, 1e12, 12345, 1e-6, 5e-6, 0 };

	check(&hpet, 1, 0, 3500 + 70);
	check(&hpet, 4, 0, (3500 + 70) / 4);
	check(&pm, 2, 0, (6000 + 280) / 2);
}

static void test_smi(void **)
{
	/*
	 * up to 7 of 8 reads are hit: nothing changes but the bound, and that only when all of a
	 * moment were
	 */
	const struct machine m = { 2.5e9, HPET, 0, 0, 0.5e-6, 0, 7 };

	check(&m, 2, 0, 201e3 / 2);
	check(&m, 20, 0, 201e3 / 20);
}

static void test_wraps(void **)
{
	/*
	 * 24 bits at 3.58 MHz: 4.69 s. A coarse rate that is 1 % off tells wraps apart for 200
	 * seconds.
	 */
	const struct machine pm = { 2.1e9, PMTIMER24, 1e13, 16777000, 1e-6, 0, 0 };
	const struct machine hpet32 = { 2.1e9, HPET32, 0, 4294967000., 1e-6, 0, 0 };

	check(&pm, 1, 0, 1300);
	for (unsigned s = 1; s < 200; s += 7) {
		check(&pm, s, 2100000000, 1300. / s + 2);
		check(&pm, s, 2079000000, 1300. / s + 2);
		check(&pm, s, 2121000000, 1300. / s + 2);
	}
	/* the same for months, with a rate that is 1 ppm off */
	check(&hpet32, 42.95, 2100002100, 50);
	check(&hpet32, 100 * 86400, 2100002100, 2);
}

static void test_counts_no_wrap_that_was_not(void **)
{
	const struct machine pm = { 2.1e9, PMTIMER24, 0, 100, 1e-6, 0, 0 };
	struct tsc_moment first, last;
	struct tsc_rate rate;

	read_moment(&pm, 0, &first);
	read_moment(&pm, 4.6, &last);
	assert_true(tsc_rate_estimate(&first, &last, &pm.ref, 0, &rate));
	assert_in_range(rate.hz, 2099990000, 2100010000);
	read_moment(&pm, 9.3, &last);
	/* the control: a wrap that nobody tells of makes a rate that does not fit all readings */
	assert_false(tsc_rate_estimate(&first, &last, &pm.ref, 0, &rate));
	assert_true(tsc_rate_estimate(&first, &last, &pm.ref, 2090000000, &rate));
}

static void test_no_rate(void **)
{
	const struct machine m = { 2e9, HPET, 0, 0, 1e-6, 0, 0 };
	struct tsc_moment first, last;
	struct tsc_rate rate;

	/* at once: nothing can be told */
	read_moment(&m, 0, &first);
	assert_false(tsc_rate_estimate(&first, &first, &m.ref, 0, &rate));
	/* the reference stands still */
	read_moment(&m, 1, &last);
	for (unsigned i = 0; i < TSC_SAMPLES; i++)
		last.sample[i].ref = first.sample[0].ref = first.sample[i].ref;
	assert_false(tsc_rate_estimate(&first, &last, &m.ref, 0, &rate));
	/* it jumps between two readings of a moment: 10 us fit no rate that fits the others */
	read_moment(&m, 0, &first);
	read_moment(&m, 1, &last);
	last.sample[3].ref += 144;
	assert_false(tsc_rate_estimate(&first, &last, &m.ref, 0, &rate));
	/* it went back */
	read_moment(&m, 1, &first);
	read_moment(&m, 0.5, &last);
	assert_false(tsc_rate_estimate(&first, &last, &m.ref, 0, &rate));
}

static void test_error(void **)
{
	const struct tsc_rate gigahertz = { 1000000000, 10 };
	char text[TSC_ERROR_TEXT];

	assert_int_equal(tsc_rate_error_ppb(1000000000, &gigahertz), 0);
	assert_int_equal(tsc_rate_error_ppb(1000003000, &gigahertz), 3000);
	assert_int_equal(tsc_rate_error_ppb(999997000, &gigahertz), -3000);
	assert_int_equal(tsc_rate_error_ppb(UINT64_MAX, &gigahertz), 1000000000);
	assert_int_equal(tsc_rate_error_ppb(0, &gigahertz), -1000000000);
	tsc_error_say(-67, "slow", "fast", text);
	assert_string_equal(text, "67 ppb fast");
	tsc_error_say(67, "slow", "fast", text);
	assert_string_equal(text, "67 ppb slow");
	tsc_error_say(0, "slow", "fast", text);
	assert_string_equal(text, "0 ppb slow");
}

static void test_choice(void **)
{
	const struct tsc_rate none = { 0, 0 }, tight = { 2592000000, 1000 },
			      loose = { 2592000000, 2000000 };

	assert_int_equal(tsc_choose_hz(0, &none), 0);
	assert_int_equal(tsc_choose_hz(2592000000, &none), 2592000000);
	assert_int_equal(tsc_choose_hz(0, &tight), 2592000000);
	/* within 500 ppm and the bound, either side: the enumerated value is the exact one */
	assert_int_equal(tsc_choose_hz(2592000000 + 1296000 + 2592, &tight), 2593298592);
	assert_int_equal(tsc_choose_hz(2592000000 - 1296000 - 2592, &tight), 2590701408);
	assert_int_equal(tsc_choose_hz(2592000000 + 6400000, &loose), 2598400000);
	/* beyond */
	assert_int_equal(tsc_choose_hz(2592000000 + 1296000 + 2600, &tight), 2592000000);
	assert_int_equal(tsc_choose_hz(2592000000 - 1296000 - 2600, &tight), 2592000000);
	assert_int_equal(tsc_choose_hz(2592000000 + 6500000, &loose), 2592000000);
	/*
	 * Bochs' skylake_x says 3.5 GHz and runs at 50 MHz; Skylake-X with its crystal taken for 24
	 * instead of 25 MHz
	 */
	assert_int_equal(tsc_choose_hz(3500000000, &(struct tsc_rate){ 50000000, 1000 }), 50000000);
	assert_int_equal(tsc_choose_hz(2016000000, &(struct tsc_rate){ 2100000000, 1000 }),
			 2100000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpuid),    cmocka_unit_test(test_quantised),
		cmocka_unit_test(test_jittered), cmocka_unit_test(test_smi),
		cmocka_unit_test(test_wraps),    cmocka_unit_test(test_counts_no_wrap_that_was_not),
		cmocka_unit_test(test_no_rate),  cmocka_unit_test(test_error),
		cmocka_unit_test(test_choice),
	};

	srand(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
