/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/* Errata: which CPUs have which bits set, that firmware's others stay, and where memory is kept away from elided locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"

static struct { u32 msr; u64 value; } msrs[] = { { 0xc0011020, 0 }, { 0xc0011028, 0 }, { 0xc001102e, 0 } };
static unsigned nr_msrs, writes;
static u32 leaf7_ebx, leaf8_ebx;

static void fake_cpuid(u32 leaf, u32, struct cpuid_regs *r)
{
	*r = (struct cpuid_regs){ .ebx = leaf == 7 ? leaf7_ebx : leaf == 0x80000008 ? leaf8_ebx : ~0u };
}

#define cpuid fake_cpuid
#include "arch/x86_64/cpu/errata.c"

struct cpu_features cpu_features;

static u64 *msr(u32 number)
{
	for (unsigned i = 0; i < nr_msrs; i++)
		if (msrs[i].msr == number)
			return &msrs[i].value;
	return NULL;
}

int host_rdmsr(u32 number, u64 *value)
{
	*value = msr(number) ? *msr(number) : 0;
	return msr(number) ? 0 : -1;
}

int host_wrmsr(u32 number, u64 value)
{
	assert_non_null(msr(number));
	*msr(number) = value;
	writes++;
	return 0;
}

static void start(enum cpu_vendor vendor, u32 family, u32 model)
{
	cpu_features = (struct cpu_features){
		.vendor = vendor, .family = family, .model = model, .max_basic = 0xd, .max_ext = 0x8000001e,
	};
	nr_msrs = ARRAY_SIZE(msrs);
	for (unsigned i = 0; i < nr_msrs; i++)
		msrs[i].value = 0x1010;
	leaf7_ebx = leaf8_ebx = writes = 0;
}

/* What each of the three has beside what firmware left there. */
static void expect(u64 ls, u64 fp, u64 bp)
{
	errata_init_cpu();
	assert_int_equal(msrs[0].value, 0x1010 | ls);
	assert_int_equal(msrs[1].value, 0x1010 | fp);
	assert_int_equal(msrs[2].value, 0x1010 | bp);
	/* Once. */
	assert_int_equal(writes, (ls || fp || bp) ? 1 : 0);
	errata_init_cpu();
	assert_int_equal(writes, (ls || fp || bp) ? 1 : 0);
}

static void test_amd(void **)
{
	start(CPU_AMD, 0x16, 0);
	expect(1 << 15, 0, 0);
	start(CPU_AMD, 0x16, 0xf);
	expect(1 << 15, 0, 0);
	start(CPU_AMD, 0x16, 0x30);
	expect(0, 0, 0);
	start(CPU_AMD, 0x17, 1);
	expect(0, 1 << 9, 0);
	start(CPU_AMD, 0x17, 0x31);
	leaf8_ebx = 1 << 15;
	expect(0, 0, 1ull << 33);
	start(CPU_AMD, 0x19, 1);
	leaf8_ebx = 1 << 15;
	expect(0, 0, 0);
	start(CPU_INTEL, 0x17, 1);
	expect(0, 0, 0);
}

static void test_below(void **)
{
	start(CPU_AMD, 0x17, 1);
	cpu_features.hypervisor = true;
	expect(0, 0, 0);
	/* No such register. */
	cpu_features.hypervisor = false;
	nr_msrs = 0;
	errata_init_cpu();
	assert_int_equal(writes, 0);
}

static void test_hle(void **)
{
	static const u32 has[] = { 0x4e, 0x55, 0x5e, 0x8e, 0x9e }, has_not[] = { 0x3f, 0x4f, 0x6a, 0xa5 };

	for (unsigned i = 0; i < ARRAY_SIZE(has); i++) {
		start(CPU_INTEL, 6, has[i]);
		assert_false(errata_hle_hangs());
		leaf7_ebx = 1 << 4;
		assert_true(errata_hle_hangs());
		cpu_features.hypervisor = true;
		assert_false(errata_hle_hangs());
	}
	for (unsigned i = 0; i < ARRAY_SIZE(has_not); i++) {
		start(CPU_INTEL, 6, has_not[i]);
		leaf7_ebx = ~0u;
		assert_false(errata_hle_hangs());
	}
	start(CPU_AMD, 6, 0x55);
	leaf7_ebx = ~0u;
	assert_false(errata_hle_hangs());
	start(CPU_INTEL, 6, 0x55);
	leaf7_ebx = ~0u;
	cpu_features.max_basic = 6;
	assert_false(errata_hle_hangs());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amd), cmocka_unit_test(test_below), cmocka_unit_test(test_hle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
