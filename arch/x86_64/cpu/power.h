/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: how fast a CPU may run: what it says of itself, and the few registers that let its
 * clock go as high as it can (Intel: HWP or IA32_PERF_CTL, SDM vol. 3, 15.1 to 15.4; AMD: P-states
 * and CPPC, APM vol. 2, 17). kernel/cpu/power.c does it.
 */
#ifndef ARCH_CPU_POWER_H
#define ARCH_CPU_POWER_H

#include <margay/x86.h>

/* power= on the command line. By default what the firmware has switched off stays off. */
enum power_policy { POWER_PERFORMANCE, POWER_TURBO, POWER_FIRMWARE };

struct power {
	/*
	 * enum power_way, enum power_turbo (power.c): by what the clock is chosen, and with turbo
	 * or not
	 */
	u8 way;
	u8 turbo;
	/*
	 * that the CPU is told: levels (HWP, CPPC), the ratio twice, or P-states that the platform
	 * allows
	 */
	u8 lowest;
	u8 highest;
	u32 failed; /* the register that could not be read or written; 0: none */
};

/* Of the calling CPU. The MSRs': 0, or an error where there is none. */
struct power_cpu {
	void (*cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out);
	int (*rdmsr)(u32 msr, u64 *value);
	int (*wrmsr)(u32 msr, u64 value);
};

/* Decides and does it; writes no register that holds the value already. */
void power_set_up(const struct power_cpu *cpu, enum power_policy policy, struct power *out);

/* What was done, as a text without an end of line. */
void power_describe(const struct power *p, char *out, size_t size);

#endif
