/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rate of the TSC: what CPUID says, what a reference clock measures, and
 * which of the two to believe. SDM vol. 3, 18.7.3; vol. 2, CPUID 15H.
 *
 * The arithmetic (tsc_rate.c) is pure and unit-tested; tsc.c does the reading.
 */
#ifndef ARCH_CPU_TSC_H
#define ARCH_CPU_TSC_H

#include <margay/types.h>

/* A clock of known rate to measure against: the HPET or the ACPI PM timer. */
struct tsc_reference {
	const char *name;
	u64 hz;
	u64 mask;          /* counter width: 2^n - 1 */
	u64 (*read)(void);
};

/* Pure. Rate in kHz from CPUID 15H; 0 when it is not complete (any field 0). */
u64 tsc_khz_from_cpuid(u32 eax, u32 ebx, u32 ecx);

/*
 * Pure. Rate in kHz, rounded to nearest, of a TSC that advanced tsc_ticks
 * while a clock of ref_hz advanced ref_ticks. 0 when ref_ticks is 0 or the
 * result does not fit.
 */
u64 tsc_khz_from_ticks(u64 tsc_ticks, u64 ref_ticks, u64 ref_hz);

/* Pure. Which one to use: the enumerated rate, unless a measurement exists and differs by more than 1 %. */
u64 tsc_choose_khz(u64 enumerated, u64 measured);

/* Rate in kHz that CPUID 15H gives on this CPU, or 0. */
u64 tsc_enumerated_khz(void);

/* Measures for about 50 ms. 0 when the reference does not advance. */
u64 tsc_measure_khz(const struct tsc_reference *ref);

#endif
