/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/rtc_time.c arch/x86_64/cpu/tsc_rate.c vmm/dev/cpu/pvclock_scale.c */
/* FUZZ: -max_len=80 */
/*
 * Fuzzes the arithmetic of time that takes numbers from outside: the CMOS
 * clock's registers against gmtime_r(), the TSC's rate against made-up machines
 * whose rate is known, the paravirtual clock's scale against its bound.
 */
#include <time.h>

#include "arch/x86_64/cpu/tsc.h"
#include <margay/rtc.h>
#include "tests/fuzz/fuzz.h"
#include "vmm/dev/cpu/pvclock_scale.h"

static unsigned from_bcd(u8 v)
{
	return (v >> 4) * 10u + (v & 15);
}

static void rtc(struct fuzz_in *in)
{
	struct rtc_registers r;
	u64 seconds = ~0ull;
	struct tm tm;
	time_t t;
	bool binary;
	unsigned hour;

	r.second = fuzz_u8(in);
	r.minute = fuzz_u8(in);
	r.hour = fuzz_u8(in);
	r.day = fuzz_u8(in);
	r.month = fuzz_u8(in);
	r.year = fuzz_u8(in);
	r.century = fuzz_u8(in);
	r.status_b = fuzz_u8(in);
	r.has_century = fuzz_u8(in) & 1;
	if (rtc_to_seconds(&r, &seconds)) {
		CHECK(seconds == ~0ull);
		return;
	}
	/* The C library's calendar gives the registers back. */
	t = (time_t)seconds;
	CHECK(gmtime_r(&t, &tm));
	binary = r.status_b & 4;
	hour = r.hour & (r.status_b & 2 ? 0xff : 0x7f);
	if (!binary)
		hour = from_bcd((u8)hour);
	if (!(r.status_b & 2))
		hour = hour % 12 + (r.hour & 0x80 ? 12 : 0);
	CHECK(tm.tm_sec == (int)(binary ? r.second : from_bcd(r.second)));
	CHECK(tm.tm_min == (int)(binary ? r.minute : from_bcd(r.minute)));
	CHECK(tm.tm_hour == (int)hour);
	CHECK(tm.tm_mday == (int)(binary ? r.day : from_bcd(r.day)));
	CHECK(tm.tm_mon + 1 == (int)(binary ? r.month : from_bcd(r.month)));
	CHECK(tm.tm_year % 100 == (int)(binary ? r.year : from_bcd(r.year)) % 100);
	CHECK(tm.tm_year >= 70);
}

static void tsc_choice(struct fuzz_in *in)
{
	u32 eax = fuzz_u32(in), ebx = fuzz_u32(in), ecx = fuzz_u32(in);
	struct tsc_rate measured = { fuzz_number(in), fuzz_number(in) };
	u64 enumerated = fuzz_number(in), hz = tsc_hz_from_cpuid(eax, ebx, ecx);
	s64 ppb;

	if (eax && ebx && ecx)
		CHECK(hz == (u64)(((unsigned __int128)ecx * ebx + eax / 2) / eax));
	else
		CHECK(!hz);
	hz = tsc_choose_hz(enumerated, &measured);
	CHECK(hz == enumerated || hz == measured.hz);
	CHECK(measured.hz || hz == enumerated);
	CHECK(hz || !enumerated || !measured.hz);
	if (!measured.hz)
		return;
	ppb = tsc_rate_error_ppb(enumerated, &measured);
	CHECK(ppb <= 1000000000 && ppb >= -1000000000 && (ppb > 0) <= (enumerated > measured.hz));
}

/* Samples as a machine makes them, whose rate is known: the estimate's bound must hold it. */
static void tsc_moment(struct fuzz_in *in, struct tsc_moment *m, u64 at, u64 hz,
		       const struct tsc_reference *ref)
{
	for (unsigned i = 0; i < TSC_SAMPLES; i++) {
		u64 before = fuzz_u8(in) * 16u, after = fuzz_u8(in) * 16u;

		at += before;
		m->sample[i] = (struct tsc_sample){
			at - before,
			at + after,
			(u64)((unsigned __int128)at * ref->mhz / ((unsigned __int128)hz * 1000)) &
				ref->mask,
		};
		at += after;
	}
}

static void tsc_estimate(struct fuzz_in *in)
{
	u64 hz = 1000000 + fuzz_number(in) % 10000000000ull, elapsed;
	struct tsc_reference ref = { .mhz = 1000000 + fuzz_number(in) % 200000000000ull,
				     .mask = fuzz_u8(in) & 1 ? 0xffffff : ~0ull };
	struct tsc_moment first, last;
	struct tsc_rate got;
	u64 coarse = ref.mask == ~0ull ? 0 : hz + hz / 256 - (u64)fuzz_u8(in) * hz / 32768;

	/* Up to a minute; of a narrow counter not more wraps than a rate known to 1 % can count. */
	elapsed = fuzz_number(in) % (hz * 60);
	if (coarse)
		elapsed = MIN(elapsed,
			      (u64)((unsigned __int128)(ref.mask + 1) * 40 * 1000 * hz / ref.mhz));
	tsc_moment(in, &first, BIT(32), hz, &ref);
	tsc_moment(in, &last, BIT(32) + elapsed + 16 * 512 * TSC_SAMPLES, hz, &ref);
	if (!tsc_rate_estimate(&first, &last, &ref, coarse, &got))
		return;
	CHECK(got.hz);
	CHECK((got.hz > hz ? got.hz - hz : hz - got.hz) <=
	      (u64)((unsigned __int128)got.hz * got.bound_ppb / 1000000000) + 1);
}

static void pvclock(struct fuzz_in *in)
{
	u64 khz = 1 + fuzz_u32(in) % 0x7fffffff, delta = fuzz_number(in) >> 16;
	unsigned __int128 exact = (unsigned __int128)delta * 1000000 / khz, got;
	u32 mul;
	s8 shift;

	pvclock_scale(khz, &mul, &shift);
	CHECK(shift >= 0 && mul);
	/* What does not fit into 64 bits on the way is beyond any uptime. */
	if (shift && delta >> (64 - shift))
		return;
	got = pvclock_ns(delta, mul, shift);
	/* Never fast, slow by at most 1 / mul; whole nanoseconds. */
	CHECK(got <= exact && exact - got <= exact / mul + 2);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };

	switch (fuzz_u8(&in) % 4) {
	case 0: rtc(&in); break;
	case 1: tsc_choice(&in); break;
	case 2: tsc_estimate(&in); break;
	default: pvclock(&in);
	}
	return 0;
}
