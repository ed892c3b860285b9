/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rate of the TSC: what CPUID says, what a reference clock measures with
 * which error bound, and which of the two to believe. SDM vol. 3, 18.7.3;
 * vol. 2, CPUID 15H.
 *
 * A sample reads the reference between two readings of the TSC. Nothing else
 * is assumed: not how long the read took, nor when in between the counter was
 * looked at. Two samples thus bound the rate from both sides, and what an SMI
 * or an emulator's pause has stretched bounds it loosely, but never wrongly.
 *
 * The arithmetic (tsc_rate.c) is pure and unit-tested; tsc.c does the reading.
 */
#ifndef ARCH_CPU_TSC_H
#define ARCH_CPU_TSC_H

#include <margay/types.h>

/* A clock of known rate to measure against: the HPET or the ACPI PM timer. */
struct tsc_reference {
	const char *name;
	u64 mhz;           /* millihertz */
	u64 mask;          /* counter width: 2^n - 1 */
	u64 (*read)(void);
};

/* The reference showed ref at some moment between the TSC values before and after. */
struct tsc_sample {
	u64 before;
	u64 after;
	u64 ref;
};

/*
 * One moment, sampled a few times: each with each of another moment bounds the rate, and the
 * tightest bounds count.
 */
#define TSC_SAMPLES 8
struct tsc_moment {
	struct tsc_sample sample[TSC_SAMPLES];
};

struct tsc_rate {
	u64 hz;
	u64 bound_ppb; /* the true rate, in seconds of the reference, is within this of hz */
};

/* Pure. Rate in Hz, rounded, from CPUID 15H; 0 when it is not complete (any field 0). */
u64 tsc_hz_from_cpuid(u32 eax, u32 ebx, u32 ecx);

/*
 * Pure. The rate between two moments. coarse_hz, within 1 % of the rate or so,
 * tells how often a narrow counter wrapped meanwhile; 0: not once. False when
 * the moments are too close to tell anything, or when no rate fits all
 * samples: one of the two clocks is not steady.
 */
bool tsc_rate_estimate(const struct tsc_moment *first, const struct tsc_moment *last,
		       const struct tsc_reference *ref, u64 coarse_hz, struct tsc_rate *out);

/* Pure. By how many ppb the rate hz is above the true one, as measured; saturates at +-10^9. */
s64 tsc_rate_error_ppb(u64 hz, const struct tsc_rate *measured);

/* For people, without a sign: "11 ppb " and `above`, or `below` for what is less than 0. */
#define TSC_ERROR_TEXT 40
void tsc_error_say(s64 ppb, const char *above, const char *below, char text[TSC_ERROR_TEXT]);

/*
 * Pure. The rate to use: the enumerated one (0: none), exact by definition,
 * unless a measurement (hz 0: none) contradicts it by more than its own error
 * bound and the 500 ppm that a reference may be off (IA-PC HPET 1.0a, 2.4.1).
 */
u64 tsc_choose_hz(u64 enumerated_hz, const struct tsc_rate *measured);

/* Rate in Hz that CPUID 15H gives on this CPU, or 0. */
u64 tsc_enumerated_hz(void);

void tsc_read_moment(const struct tsc_reference *ref, struct tsc_moment *moment);

/*
 * The rate since `first`: goes on measuring until the bound is at most
 * want_ppb, but for no longer than at_most_ms. False when the reference stands
 * still or is not steady.
 */
bool tsc_measure(const struct tsc_reference *ref, const struct tsc_moment *first, u64 coarse_hz,
		 u64 want_ppb, unsigned at_most_ms, struct tsc_rate *out);

#endif
