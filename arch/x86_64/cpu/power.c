/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of a CPU as high as it goes: power.h. */
#include "arch/x86_64/cpu/power.h"

#include <margay/string.h>
#include "arch/x86_64/cpu/features.h"

enum power_way {
	POWER_NOTHING,
	POWER_LEFT,
	POWER_PLATFORM,
	POWER_HWP,
	POWER_RATIO,
	POWER_CPPC,
	POWER_P0
};
enum power_turbo { TURBO_NONE, TURBO_ON, TURBO_OFF /* by the firmware */ };

enum power_msr {
	PLATFORM_INFO = 0xce,
	PERF_CTL = 0x199,
	MISC_ENABLE = 0x1a0,
	MISC_PWR_MGMT = 0x1aa,
	TURBO_RATIO_LIMIT = 0x1ad,
	ENERGY_PERF_BIAS = 0x1b0,
	PM_ENABLE = 0x770,
	HWP_CAPABILITIES = 0x771,
	HWP_REQUEST = 0x774,
	HWCR = 0xc0010015,
	PSTATE_LIMIT = 0xc0010061,
	PSTATE_CTL = 0xc0010062,
	CPPC_CAP1 = 0xc00102b0,
	CPPC_ENABLE = 0xc00102b1,
	CPPC_REQ = 0xc00102b3,
};

#define CPUID_1_ECX_EIST BIT(7)
#define CPUID_1_ECX_AVX BIT(28)
#define CPUID_6_EAX_TURBO BIT(1)
#define CPUID_6_EAX_HWP BIT(7)
#define CPUID_6_EAX_EPP BIT(10)
#define CPUID_6_ECX_BIAS BIT(3)
#define CPUID_80000007_EDX_PSTATES BIT(7)
#define CPUID_80000007_EDX_BOOST BIT(9)
#define CPUID_80000008_EBX_CPPC BIT(27)

#define MISC_ENABLE_EIST BIT(16)
#define MISC_ENABLE_EIST_LOCK BIT(20)
#define MISC_ENABLE_TURBO_OFF BIT(38)
/* P-states are the platform's: by PECI, or by HWP without the system's doing */
#define OUT_OF_BAND (BIT(8) | BIT(18))
#define PERF_CTL_TURBO_OFF BIT(32)
#define HWCR_BOOST_OFF BIT(25)
#define HWP_WINDOW (0x3ffull << 32)
#define HWP_PACKAGE BIT(42)

struct at {
	const struct power_cpu *cpu;
	enum power_policy policy;
	struct power *out;
	u32 eax6;
	u32 ecx6;
	bool knights; /* Xeon Phi */
};

static u8 byte_of(u64 value, unsigned n)
{
	return (u8)(value >> 8 * n);
}

static bool read(struct at *a, u32 msr, u64 *value)
{
	if (!a->out->failed && a->cpu->rdmsr(msr, value))
		a->out->failed = msr;
	return !a->out->failed;
}

static void change(struct at *a, u32 msr, u64 mask, u64 bits)
{
	u64 old, new;

	if (!read(a, msr, &old))
		return;
	new = (old & ~mask) | bits;
	if (new != old && a->cpu->wrmsr(msr, new))
		a->out->failed = msr;
}

/*
 * From what the CPU guarantees up to what it can, or from higher where that stands there; no wish
 * in between; for speed.
 */
static void levels(struct at *a, u32 msr, u64 request, unsigned low, unsigned high, u8 guaranteed,
		   u8 highest, u64 mask)
{
	struct power *p = a->out;

	p->highest = highest;
	p->lowest = MIN(MAX(byte_of(request, low), guaranteed), highest);
	change(a, msr, mask | 0xffffff, (u64)p->lowest << 8 * low | (u64)p->highest << 8 * high);
}

/* Once it is on, only a reset switches it off. Its capabilities are there from then on. */
static void set_hwp(struct at *a)
{
	u64 caps, request, epp = a->eax6 & CPUID_6_EAX_EPP ? 0xffull << 24 : 0;

	a->out->way = POWER_HWP;
	change(a, PM_ENABLE, BIT(0), BIT(0));
	if (read(a, HWP_CAPABILITIES, &caps) && read(a, HWP_REQUEST, &request))
		levels(a, HWP_REQUEST, request, 0, 1, byte_of(caps, 1), byte_of(caps, 0),
		       epp | HWP_WINDOW | HWP_PACKAGE);
}

/* A ratio to the bus clock in bits 15:8. Before AVX, Intel's were not encoded so. */
static void set_ratio(struct at *a, bool avx)
{
	struct power *p = a->out;
	u64 info, limits, ctl;

	if (!avx || a->cpu->rdmsr(PLATFORM_INFO, &info) || !byte_of(info, 1))
		return;
	p->way = POWER_RATIO;
	p->highest = byte_of(info, 1);
	/* Of one active core; on Xeon Phi the first byte is another number. */
	if (p->turbo == TURBO_ON && !a->cpu->rdmsr(TURBO_RATIO_LIMIT, &limits))
		p->highest = MAX(p->highest, byte_of(limits, a->knights ? 1 : 0));
	if (read(a, PERF_CTL, &ctl))
		p->highest = MAX(p->highest, byte_of(ctl, 1));
	p->lowest = p->highest;
	change(a, PERF_CTL, 0xffff | (a->policy == POWER_TURBO ? PERF_CTL_TURBO_OFF : 0),
	       (u64)p->highest << 8);
}

static void intel(struct at *a)
{
	struct power *p = a->out;
	u64 misc, out_of_band;
	struct cpuid_regs r1, r6;

	a->cpu->cpuid(1, 0, &r1);
	a->knights =
		cpu_family(r1.eax) == 6 && (cpu_model(r1.eax) == 0x57 || cpu_model(r1.eax) == 0x85);
	if (!(a->eax6 & CPUID_6_EAX_HWP) && !(r1.ecx & CPUID_1_ECX_EIST))
		return;
	if (!a->cpu->rdmsr(MISC_PWR_MGMT, &out_of_band) && out_of_band & OUT_OF_BAND) {
		p->way = POWER_PLATFORM;
		return;
	}
	/* An emulator may have none. */
	if (a->cpu->rdmsr(MISC_ENABLE, &misc))
		misc = MISC_ENABLE_EIST;
	if (misc & MISC_ENABLE_TURBO_OFF && a->policy == POWER_TURBO)
		change(a, MISC_ENABLE, MISC_ENABLE_TURBO_OFF, 0);
	if (r1.ecx & CPUID_1_ECX_EIST && !(misc & (MISC_ENABLE_EIST | MISC_ENABLE_EIST_LOCK)))
		change(a, MISC_ENABLE, MISC_ENABLE_EIST, MISC_ENABLE_EIST);
	/* The bit is 0 while the register switches it off, whether or not the CPU has it. */
	a->cpu->cpuid(6, 0, &r6);
	if (r6.eax & CPUID_6_EAX_TURBO)
		p->turbo = TURBO_ON;
	else if (misc & MISC_ENABLE_TURBO_OFF && a->policy != POWER_TURBO)
		p->turbo = TURBO_OFF;
	if (a->eax6 & CPUID_6_EAX_HWP)
		set_hwp(a);
	else
		set_ratio(a, r1.ecx & CPUID_1_ECX_AVX);
	/* What HWP's preference replaces. */
	if (a->ecx6 & CPUID_6_ECX_BIAS && !(a->eax6 & CPUID_6_EAX_HWP && a->eax6 & CPUID_6_EAX_EPP))
		change(a, ENERGY_PERF_BIAS, 0xf, 0);
}

/*
 * CPPC cannot be switched off again, and P0 is as fast: it is used where firmware has it on, and
 * makes P-states ineffective.
 */
static void amd(struct at *a, u32 max_ext)
{
	struct cpuid_regs r7 = { 0 }, r8 = { 0 };
	struct power *p = a->out;
	u64 value, request;

	if (max_ext >= 0x80000007)
		a->cpu->cpuid(0x80000007, 0, &r7);
	if (max_ext >= 0x80000008)
		a->cpu->cpuid(0x80000008, 0, &r8);
	if (!(r7.edx & CPUID_80000007_EDX_PSTATES))
		return;
	if (r7.edx & CPUID_80000007_EDX_BOOST && read(a, HWCR, &value)) {
		if (value & HWCR_BOOST_OFF && a->policy == POWER_TURBO)
			change(a, HWCR, HWCR_BOOST_OFF, 0);
		p->turbo =
			value & HWCR_BOOST_OFF && a->policy != POWER_TURBO ? TURBO_OFF : TURBO_ON;
	}
	if (r8.ebx & CPUID_80000008_EBX_CPPC && !a->cpu->rdmsr(CPPC_ENABLE, &value) &&
	    value & BIT(0)) {
		p->way = POWER_CPPC;
		if (read(a, CPPC_CAP1, &value) && read(a, CPPC_REQ, &request))
			levels(a, CPPC_REQ, request, 1, 0, byte_of(value, 2), byte_of(value, 3),
			       0xffull << 24);
		return;
	}
	p->way = POWER_P0;
	if (read(a, PSTATE_LIMIT, &value))
		p->highest = value & 7;
	change(a, PSTATE_CTL, 7, 0);
}

void power_set_up(const struct power_cpu *cpu, enum power_policy policy, struct power *out)
{
	struct at a = { cpu, policy, out, 0, 0, false };
	struct cpuid_regs r, ext;

	*out = (struct power){ .way = policy == POWER_FIRMWARE ? POWER_LEFT : POWER_NOTHING };
	if (policy == POWER_FIRMWARE)
		return;
	cpu->cpuid(0x80000000, 0, &ext);
	cpu->cpuid(0, 0, &r);
	if (cpu_vendor(&r) == CPU_AMD) {
		amd(&a, ext.eax);
	} else if (cpu_vendor(&r) == CPU_INTEL && r.eax >= 6) {
		cpu->cpuid(6, 0, &r);
		a.eax6 = r.eax;
		a.ecx6 = r.ecx;
		intel(&a);
	}
}

/* Why nothing is set. */
static const char *without(u8 way)
{
	switch (way) {
	case POWER_LEFT: return "as the firmware has it (power=firmware)";
	case POWER_PLATFORM: return "the platform's own, out of band";
	default: return "no P-states that are known";
	}
}

void power_describe(const struct power *p, char *out, size_t size)
{
	static const char *const turbo[] = {
		[TURBO_NONE] = ", no turbo",
		[TURBO_ON] = ", turbo",
		[TURBO_OFF] = ", turbo off by the firmware (power=turbo)",
	};

	if (p->failed)
		snprintf(out, size, "MSR %#x cannot be set: use power=firmware", p->failed);
	else if (p->way == POWER_HWP || p->way == POWER_CPPC)
		snprintf(out, size, "%s, levels %u to %u%s", p->way == POWER_HWP ? "HWP" : "CPPC",
			 p->lowest, p->highest, turbo[p->turbo]);
	else if (p->way == POWER_RATIO)
		snprintf(out, size, "ratio %u%s", p->highest, turbo[p->turbo]);
	else if (p->way == POWER_P0)
		snprintf(out, size, p->highest ? "P0%s, but the platform allows P%u" : "P0%s",
			 turbo[p->turbo], p->highest);
	else
		snprintf(out, size, "%s", without(p->way));
}
