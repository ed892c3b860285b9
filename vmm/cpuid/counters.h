/* SPDX-License-Identifier: GPL-2.0-only */
/* Which performance counters a CPU has that a guest may own: for CPUID and for the device. */
#ifndef VMM_COUNTERS_H
#define VMM_COUNTERS_H

#include <margay/x86.h>

/* amd: of a core, which leaf 0xA does not tell */
struct counters {
	u8 general;
	u8 fixed;
	u8 amd;
};

/*
 * By leaf 0xA (SDM vol. 3, 20.2): none before version 2, which has what decides about counting in
 * one MSR. At most eight; the fourth fixed counter comes with a register that is not switched.
 */
static inline struct counters counters_told(const struct cpuid_regs *leaf)
{
	if ((leaf->eax & 0xff) < 2)
		return (struct counters){ 0 };
	return (struct counters){ .general = (u8)MIN(leaf->eax >> 8 & 0xff, 8u),
				  .fixed = (u8)MIN(leaf->edx & 0x1f, 3u) };
}

#endif
