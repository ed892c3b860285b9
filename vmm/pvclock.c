/* SPDX-License-Identifier: GPL-2.0-only */
/* The paravirtual clock's scale arithmetic. */
#include "vmm/pvclock.h"

void pvclock_scale(u64 tsc_khz, u32 *mul, s8 *shift)
{
	/* Nanoseconds per cycle are n / d; both are doubled until the quotient is in [1/2, 1). */
	u64 n = 1000000, d = tsc_khz;
	int s = 0;

	while (n >= d) {
		d <<= 1;
		s++;
	}
	while (2 * n < d) {
		n <<= 1;
		s--;
	}
	*mul = (u32)(((n << 32) + d / 2) / d);
	*shift = (s8)s;
}

u64 pvclock_ns(u64 delta, u32 mul, s8 shift)
{
	delta = shift < 0 ? delta >> -shift : delta << shift;
	return (u64)((unsigned __int128)delta * mul >> 32);
}
