/* SPDX-License-Identifier: GPL-2.0-only */
/* The paravirtual clock's scale arithmetic. */
#include "vmm/dev/cpu/pvclock_scale.h"

/*
 * Linux computes its TSC's kHz back as (10^6 * 2^32 / mul) >> shift, whole
 * numbers all the way: a negative shift would cost it the lowest bits, a mul
 * rounded up the last kHz. So the shift is 0 for anything above 1 GHz, and
 * mul is rounded down.
 */
void pvclock_scale(u64 tsc_khz, u32 *mul, s8 *shift)
{
	/* Nanoseconds per cycle are 10^6 / d; d is doubled until the quotient is below 1. */
	u64 d = tsc_khz;
	int s = 0;

	while (d <= 1000000) {
		d <<= 1;
		s++;
	}
	*mul = (u32)((1000000ull << 32) / d);
	*shift = (s8)s;
}

u64 pvclock_ns(u64 delta, u32 mul, s8 shift)
{
	delta = shift < 0 ? delta >> -shift : delta << shift;
	return (u64)((unsigned __int128)delta * mul >> 32);
}
