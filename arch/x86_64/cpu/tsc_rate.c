/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the arithmetic of the TSC's rate. SDM vol. 3, 18.7.3. */
#include "arch/x86_64/cpu/tsc.h"

u64 tsc_khz_from_cpuid(u32 eax, u32 ebx, u32 ecx)
{
	if (!eax || !ebx || !ecx)
		return 0;
	/* crystal Hz * EBX / EAX, at most (2^32 - 1)^2: fits. */
	return ((u64)ecx * ebx / eax + 500) / 1000;
}

u64 tsc_khz_from_ticks(u64 tsc_ticks, u64 ref_ticks, u64 ref_hz)
{
	u64 product;

	if (!ref_ticks || __builtin_mul_overflow(tsc_ticks, ref_hz, &product))
		return 0;
	return (product / ref_ticks + 500) / 1000;
}

u64 tsc_choose_khz(u64 enumerated, u64 measured)
{
	u64 diff = enumerated > measured ? enumerated - measured : measured - enumerated;

	if (!measured)
		return enumerated;
	return enumerated && diff <= measured / 100 ? enumerated : measured;
}
