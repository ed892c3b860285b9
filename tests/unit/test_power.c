/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/power.c */
/*
 * The CPUs' clocks: CPUID of recorded CPUs, with registers laid out as in the manuals. A register
 * that a CPU has not faults, HWP's fault until it is on, and reserved bits are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/power.h"
#include "cpuid_recorded.h"

enum {
	INFO = 0xce,
	PERF_CTL = 0x199,
	MISC = 0x1a0,
	PWR_MGMT = 0x1aa,
	LIMITS = 0x1ad,
	BIAS = 0x1b0,
	HWP_ON = 0x770,
	HWP_CAPS = 0x771,
	HWP_REQ = 0x774,
	HWCR = 0xc0010015,
	P_LIMIT = 0xc0010061,
	P_CTL = 0xc0010062,
	CAP1 = 0xc00102b0,
	CPPC_ON = 0xc00102b1,
	CPPC_REQ = 0xc00102b3,
};

static const struct recorded_leaf *leaves;
static unsigned count;
static u32 no_eax6, eax6, no_ecx1, ext_ebx8; /* changes to what was recorded */
static bool has_turbo; /* Intel's: its bit in CPUID is 0 while the register says so */

static struct {
	u32 msr;
	u64 value;
} msr[16];
static unsigned msrs, writes;
static u32 read_only;
static struct power p;
static char text[96];

static u64 *at(u32 number)
{
	for (unsigned i = 0; i < msrs; i++)
		if (msr[i].msr == number)
			return &msr[i].value;
	return NULL;
}

static void set(u32 number, u64 value)
{
	u64 *v = at(number);

	assert_true(v || msrs < ARRAY_SIZE(msr));
	if (!v) {
		msr[msrs].msr = number;
		v = &msr[msrs++].value;
	}
	*v = value;
}

static u64 get(u32 number)
{
	assert_non_null(at(number));
	return *at(number);
}

static int rdmsr(u32 number, u64 *value)
{
	*value = 0;
	if (!at(number) || ((number == HWP_CAPS || number == HWP_REQ) && !(get(HWP_ON) & 1)))
		return -1;
	*value = get(number);
	return 0;
}

static int wrmsr(u32 number, u64 value)
{
	u64 old;

	if (rdmsr(number, &old) || number == read_only ||
	    (number == MISC && old & BIT(20) && (old ^ value) & BIT(16)))
		return -1;
	assert_true(old != value);
	writes++;
	set(number, value);
	return 0;
}

static void cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	for (unsigned i = 0; i < count; i++)
		if (leaves[i].leaf == leaf && leaves[i].subleaf == subleaf)
			*out = leaves[i].regs;
	if (leaf == 6) {
		out->eax = (out->eax | eax6) & ~(no_eax6 | 2);
		out->eax |= has_turbo && !(at(MISC) && get(MISC) & BIT(38)) ? 2 : 0;
	}
	if (leaf == 1)
		out->ecx &= ~no_ecx1;
	if (leaf == 0x80000008)
		out->ebx |= ext_ebx8;
}

static void recording(const struct recorded_leaf *l, unsigned n)
{
	leaves = l;
	count = n;
	msrs = no_eax6 = eax6 = no_ecx1 = ext_ebx8 = read_only = 0;
	has_turbo = true;
}
#define CPU(name) recording(name, ARRAY_SIZE(name))

static void done(enum power_policy policy, unsigned wrote, const char *said)
{
	static const struct power_cpu cpu = { cpuid, rdmsr, wrmsr };

	memset(&p, 0xee, sizeof(p));
	writes = 0;
	power_set_up(&cpu, policy, &p);
	power_describe(&p, text, sizeof(text));
	assert_string_equal(text, said);
	assert_int_equal(writes, wrote);
	/* A second time there is nothing left to do, and it is said as before. */
	writes = 0;
	power_set_up(&cpu, policy, &p);
	power_describe(&p, text, sizeof(text));
	assert_string_equal(text, said);
	assert_int_equal(writes, 0);
}

/*
 * A Xeon Platinum 8480+: guaranteed 2.0 GHz, 3.8 GHz with turbo. As its firmware leaves it: HWP
 * off, or on and balanced.
 */
static void sapphire(void)
{
	CPU(sapphire_rapids);
	set(MISC, 0x850089);
	set(PWR_MGMT, 0x401cc0);
	set(HWP_ON, 0);
	set(HWP_CAPS, 0x08081426);
	set(HWP_REQ, 0x8000ff08);
	set(BIAS, 6);
}

static void test_hwp(void **)
{
	sapphire();
	done(POWER_PERFORMANCE, 2, "HWP, levels 20 to 38, turbo");
	assert_int_equal(get(HWP_REQ), 0x2614);
	assert_int_equal(get(HWP_ON), 1);
	assert_int_equal(get(BIAS), 6);
	/*
	 * What firmware has higher stays; a wish, a window and the package's control go, what is
	 * not ours stays.
	 */
	sapphire();
	set(HWP_ON, 1);
	set(HWP_REQ, 0xf00004d580201e18ull);
	done(POWER_PERFORMANCE, 1, "HWP, levels 24 to 38, turbo");
	assert_int_equal(get(HWP_REQ), 0xf000000000002618ull);
	/* Not higher than it can. */
	set(HWP_REQ, 0xff30);
	done(POWER_PERFORMANCE, 1, "HWP, levels 38 to 38, turbo");
	assert_int_equal(get(HWP_REQ), 0x2626);
	/* Without a preference of its own the CPU has the older one. */
	sapphire();
	no_eax6 = BIT(10);
	done(POWER_PERFORMANCE, 3, "HWP, levels 20 to 38, turbo");
	assert_int_equal(get(HWP_REQ), 0x80002614);
	assert_int_equal(get(BIAS), 0);
}

static void test_firmware_decides(void **)
{
	sapphire();
	done(POWER_FIRMWARE, 0, "as the firmware has it (power=firmware)");
	for (unsigned bit = 8; bit <= 18; bit += 10) {
		sapphire();
		set(PWR_MGMT, BIT(bit));
		done(POWER_PERFORMANCE, 0, "the platform's own, out of band");
	}
	/* Turbo that it has switched off stays off, unless the operator says other. */
	sapphire();
	set(MISC, 0x850089 | BIT(38));
	done(POWER_PERFORMANCE, 2, "HWP, levels 20 to 38, turbo off by the firmware (power=turbo)");
	assert_int_equal(get(MISC), 0x850089 | BIT(38));
	done(POWER_TURBO, 1, "HWP, levels 20 to 38, turbo");
	assert_int_equal(get(MISC), 0x850089);
	has_turbo = false;
	done(POWER_TURBO, 0, "HWP, levels 20 to 38, no turbo");
}

static void test_faults(void **)
{
	static const struct {
		u32 msr;
		const char *said;
	} regs[] = {
		{ HWP_ON, "MSR 0x770 cannot be set: use power=firmware" },
		{ HWP_REQ, "MSR 0x774 cannot be set: use power=firmware" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
		sapphire();
		set(HWP_ON, regs[i].msr == HWP_REQ);
		read_only = regs[i].msr;
		done(POWER_PERFORMANCE, 0, regs[i].said);
		assert_int_equal(get(HWP_REQ), 0x8000ff08);
	}
}

/* A Xeon Gold 6154 without HWP: 3.0 GHz, 3.7 with turbo. */
static void skylake(void)
{
	CPU(skylake_sp);
	set(MISC, 0x850089);
	set(INFO, 0x70c2cf3011e00ull);
	set(LIMITS, 0x2525252525252525ull);
	set(PERF_CTL, 0xc00);
	set(BIAS, 0xf0 | 6);
}

static void test_ratio(void **)
{
	skylake();
	done(POWER_PERFORMANCE, 2, "ratio 37, turbo");
	assert_int_equal(get(PERF_CTL), 0x2500);
	assert_int_equal(get(BIAS), 0xf0);
	/* Where there is more already, and where SpeedStep is off, or locked so. */
	skylake();
	set(PERF_CTL, 0x2600);
	set(MISC, 0x840089);
	done(POWER_PERFORMANCE, 2, "ratio 38, turbo");
	assert_int_equal(get(MISC), 0x850089);
	skylake();
	set(MISC, 0x940089);
	done(POWER_PERFORMANCE, 2, "ratio 37, turbo");
	assert_int_equal(get(MISC), 0x940089);
	/* Without turbo. */
	skylake();
	set(MISC, 0x850089 | BIT(38));
	set(PERF_CTL, BIT(32) | 0xc00);
	done(POWER_PERFORMANCE, 2, "ratio 30, turbo off by the firmware (power=turbo)");
	assert_int_equal(get(PERF_CTL), BIT(32) | 0x1e00);
	done(POWER_TURBO, 2, "ratio 37, turbo");
	assert_int_equal(get(PERF_CTL), 0x2500);
	skylake();
	has_turbo = false;
	done(POWER_PERFORMANCE, 2, "ratio 30, no turbo");
}

/* Its first byte counts cores. */
static void test_knights(void **)
{
	static struct recorded_leaf knl[ARRAY_SIZE(skylake_sp)];

	memcpy(knl, skylake_sp, sizeof(knl));
	for (unsigned i = 0; i < ARRAY_SIZE(knl); i++)
		if (knl[i].leaf == 1)
			knl[i].regs.eax = 0x50671;
	skylake();
	leaves = knl;
	set(INFO, 0xd00);
	set(LIMITS, 0x0f40);
	set(PERF_CTL, 0xa00);
	done(POWER_PERFORMANCE, 2, "ratio 15, turbo");
}

/* Encoded otherwise before AVX; not there; emulators, and one that has nothing of what it says. */
static void test_nothing(void **)
{
	skylake();
	no_ecx1 = BIT(28);
	done(POWER_PERFORMANCE, 1, "no P-states that are known");
	assert_int_equal(get(PERF_CTL), 0xc00);
	assert_int_equal(get(BIAS), 0xf0);
	skylake();
	no_ecx1 = BIT(7);
	done(POWER_PERFORMANCE, 0, "no P-states that are known");
	CPU(qemu_tcg_max);
	done(POWER_PERFORMANCE, 0, "no P-states that are known");
	CPU(bochs_haswell);
	done(POWER_PERFORMANCE, 0, "MSR 0x1b0 cannot be set: use power=firmware");
	eax6 = BIT(7);
	done(POWER_PERFORMANCE, 0, "MSR 0x770 cannot be set: use power=firmware");
}

/* An EPYC 9124: boost to 3.7 GHz. */
static void test_amd(void **)
{
	CPU(zen4);
	set(HWCR, 0x49000011);
	set(P_LIMIT, 0x20);
	set(P_CTL, 2);
	done(POWER_PERFORMANCE, 1, "P0, turbo");
	assert_int_equal(get(P_CTL), 0);
	set(P_LIMIT, 0x21);
	set(HWCR, 0x49000011 | BIT(25));
	done(POWER_PERFORMANCE, 0,
	     "P0, turbo off by the firmware (power=turbo), but the platform allows P1");
	done(POWER_TURBO, 1, "P0, turbo, but the platform allows P1");
	assert_int_equal(get(HWCR), 0x49000011);
	/* CPPC that is off stays off; one that is on has the word. */
	set(CPPC_ON, 0);
	set(CAP1, 0xa6763c12);
	set(CPPC_REQ, 0x800000ff);
	ext_ebx8 = BIT(27);
	set(P_LIMIT, 0x20);
	done(POWER_PERFORMANCE, 0, "P0, turbo");
	assert_int_equal(get(CPPC_REQ), 0x800000ff);
	set(CPPC_ON, 1);
	set(P_CTL, 2);
	done(POWER_PERFORMANCE, 1, "CPPC, levels 118 to 166, turbo");
	assert_int_equal(get(CPPC_REQ), 0x76a6);
	assert_int_equal(get(P_CTL), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hwp),     cmocka_unit_test(test_firmware_decides),
		cmocka_unit_test(test_faults),  cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_knights), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_amd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
