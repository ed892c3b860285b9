/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the TSC's rate: CPUID 15H, and a measurement against a reference clock. */
#include "arch/x86_64/cpu/tsc.h"

#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"

#define STUCK_MOMENTS 100000 /* a reference that shows the same in so many in a row stands still */

u64 tsc_enumerated_hz(void)
{
	struct cpuid_regs r;

	if (cpu_features.max_basic < 0x15)
		return 0;
	cpuid(0x15, 0, &r);
	return tsc_hz_from_cpuid(r.eax, r.ebx, r.ecx);
}

void tsc_read_moment(const struct tsc_reference *ref, struct tsc_moment *moment)
{
	for (unsigned i = 0; i < TSC_SAMPLES; i++) {
		struct tsc_sample *s = &moment->sample[i];

		s->before = rdtsc_ordered();
		s->ref = ref->read();
		s->after = rdtsc_ordered();
	}
}

bool tsc_measure(const struct tsc_reference *ref, const struct tsc_moment *first, u64 coarse_hz,
		 u64 want_ppb, unsigned at_most_ms, struct tsc_rate *out)
{
	u64 shown = first->sample[0].ref, ticks = 0, at_most = ref->mhz / 1000000 * at_most_ms;
	unsigned stuck = 0;
	bool known;

	do {
		struct tsc_moment now;
		u64 step;

		tsc_read_moment(ref, &now);
		step = (now.sample[0].ref - shown) & ref->mask;
		shown += step;
		stuck = step ? 0 : stuck + 1;
		if (stuck == STUCK_MOMENTS)
			return false;
		/* The first step is from `first` to here: that was not waited for. */
		ticks += ticks ? step : 1;
		known = tsc_rate_estimate(first, &now, ref, coarse_hz, out);
	} while (ticks < at_most && !(known && out->bound_ppb <= want_ppb));
	return known;
}
