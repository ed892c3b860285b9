/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the arithmetic of the TSC's rate. SDM vol. 3, 18.7.3. */
#include "arch/x86_64/cpu/tsc.h"

#include <margay/string.h>

#define PPB 1000000000ull
#define REFERENCE_TOLERANCE_PPB 500000ull

/* a * b / c, rounded down; all ones where that does not fit. */
static u64 mul_div(u64 a, u64 b, u64 c)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	u64 high = (u64)(product >> 64), quotient, rest;

	if (high >= c)
		return ~0ull;
	asm("divq %4" : "=a"(quotient), "=d"(rest) : "a"((u64)product), "d"(high), "rm"(c) : "cc");
	return quotient;
}

u64 tsc_hz_from_cpuid(u32 eax, u32 ebx, u32 ecx)
{
	if (!eax || !ebx || !ecx)
		return 0;
	/* (2^32 - 1)^2 + 2^31 fits */
	return ((u64)ecx * ebx + eax / 2) / eax;
}

/*
 * Ticks of the reference between two samples: what the counter shows, and the wraps that the TSC
 * tells of.
 */
static u64 ref_ticks(const struct tsc_sample *a, const struct tsc_sample *b,
		     const struct tsc_reference *ref, u64 coarse_hz)
{
	u64 shown = (b->ref - a->ref) & ref->mask, period = ref->mask + 1, expected;

	if (!coarse_hz || !period)
		return shown;
	expected = mul_div(b->before - a->before, ref->mhz, coarse_hz * 1000);
	return expected > shown ? shown + (expected - shown + period / 2) / period * period : shown;
}

bool tsc_rate_estimate(const struct tsc_moment *first, const struct tsc_moment *last,
		       const struct tsc_reference *ref, u64 coarse_hz, struct tsc_rate *out)
{
	u64 low = 0, high = ~0ull; /* millihertz */

	for (unsigned i = 0; i < TSC_SAMPLES * TSC_SAMPLES; i++) {
		const struct tsc_sample *a = &first->sample[i / TSC_SAMPLES],
					*b = &last->sample[i % TSC_SAMPLES];
		u64 ticks = ref_ticks(a, b, ref, coarse_hz);

		/*
		 * A counter that shows n more has counted for more than n - 1 and less than n + 1
		 * of its periods.
		 */
		if (b->before > a->after)
			low = MAX(low, mul_div(b->before - a->after, ref->mhz, ticks + 1));
		if (ticks > 1)
			high = MIN(high, mul_div(b->after - a->before, ref->mhz, ticks - 1));
	}
	if (!low || high > ~0ull / 2 || low > high + 1)
		return false;
	out->hz = (low / 2 + high / 2 + 500) / 1000;
	out->bound_ppb = mul_div((MAX(low, high) - MIN(low, high)) / 2 + 500, PPB, low) + 1;
	return out->hz != 0;
}

s64 tsc_rate_error_ppb(u64 hz, const struct tsc_rate *measured)
{
	u64 diff = hz > measured->hz ? hz - measured->hz : measured->hz - hz;
	s64 ppb = (s64)MIN(mul_div(diff, PPB, measured->hz), PPB);

	return hz > measured->hz ? ppb : -ppb;
}

void tsc_error_say(s64 ppb, const char *above, const char *below, char text[TSC_ERROR_TEXT])
{
	snprintf(text, TSC_ERROR_TEXT, "%ld ppb %s", ppb < 0 ? -ppb : ppb, ppb < 0 ? below : above);
}

u64 tsc_choose_hz(u64 enumerated_hz, const struct tsc_rate *measured)
{
	s64 error, tolerance = (s64)(MIN(measured->bound_ppb, PPB) + REFERENCE_TOLERANCE_PPB);

	if (!measured->hz)
		return enumerated_hz;
	error = tsc_rate_error_ppb(enumerated_hz, measured);
	return error <= tolerance && error >= -tolerance ? enumerated_hz : measured->hz;
}
