/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the TSC's rate: CPUID 15H, and a measurement against a reference clock. */
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/tsc.h"

#define MEASURE_MS 50
#define SAMPLES 8
#define STUCK_READS 1000000 /* equal reads in a row: the clock stands still */

/* One point in both clocks: the tightest of a few readings, so that an SMI or an emulator's pause spoils none. */
static u64 sample(const struct tsc_reference *ref, u64 *tsc)
{
	u64 best = ~0ull, value = 0;

	for (unsigned i = 0; i < SAMPLES; i++) {
		u64 before = rdtsc();
		u64 now = ref->read();
		u64 after = rdtsc();

		if (after - before < best) {
			best = after - before;
			value = now;
			*tsc = before + (after - before) / 2;
		}
	}
	return value;
}

u64 tsc_enumerated_khz(void)
{
	struct cpuid_regs r;

	if (cpu_features.max_basic < 0x15)
		return 0;
	cpuid(0x15, 0, &r);
	return tsc_khz_from_cpuid(r.eax, r.ebx, r.ecx);
}

u64 tsc_measure_khz(const struct tsc_reference *ref)
{
	u64 want = ref->hz * MEASURE_MS / 1000;
	u64 tsc0, tsc1, start = sample(ref, &tsc0), end, now, last = start;
	unsigned stuck = 0;

	do {
		now = ref->read();
		stuck = now == last ? stuck + 1 : 0;
		if (stuck == STUCK_READS)
			return 0;
		last = now;
	} while (((now - start) & ref->mask) < want);
	end = sample(ref, &tsc1);
	return tsc_khz_from_ticks(tsc1 - tsc0, (end - start) & ref->mask, ref->hz);
}
