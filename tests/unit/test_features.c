/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * What the host reads from CPUID: recorded CPUs, and ones that lack a leaf or what the LWK needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"
#include "cpuid_recorded.h"

static struct recorded_leaf leaf[64];
static unsigned count;

static void fake_cpuid(u32 number, u32 subleaf, struct cpuid_regs *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < count; i++)
		if (leaf[i].leaf == number && leaf[i].subleaf == subleaf)
			*out = leaf[i].regs;
}

#define cpuid fake_cpuid
#include "arch/x86_64/cpu/features.c"

void upcall_log(const char *, ...) { }

static int init(void)
{
	memset(&cpu_features, 0, sizeof(cpu_features));
	return features_init();
}

static void take(const struct recorded_leaf *from, unsigned n)
{
	assert_true(n <= ARRAY_SIZE(leaf));
	memcpy(leaf, from, n * sizeof(*from));
	count = n;
}

static struct cpuid_regs *of(u32 number)
{
	for (unsigned i = 0; i < count; i++)
		if (leaf[i].leaf == number)
			return &leaf[i].regs;
	leaf[count].leaf = number;
	return &leaf[count++].regs;
}

static void test_recorded(void **)
{
	static const struct {
		const struct recorded_leaf *leaf;
		unsigned count;
		enum cpu_vendor vendor;
		u32 family;
		u32 model;
		u32 stepping;
		u32 hint;
		u8 phys_bits;
		bool tsc_deadline;
		bool tsc_adjust;
		bool umip;
		bool page_1g;
		bool invariant;
		const char *brand;
	} cpu[] = {
		{ qemu_tcg_max, ARRAY_SIZE(qemu_tcg_max), CPU_AMD, 6, 6, 3, 0, 40, false, false,
		  true, true, false, "QEMU TCG CPU version 2.5+" },
		{ bochs_haswell, ARRAY_SIZE(bochs_haswell), CPU_INTEL, 6, 0x3c, 3, 0x33, 40, true,
		  true, false, true, true, "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz" },
		{ skylake_sp, ARRAY_SIZE(skylake_sp), CPU_INTEL, 6, 0x55, 4, 0x21, 46, true, true,
		  false, true, true, "Intel(R) Xeon(R) Gold 6154 CPU @ 3.00GHz" },
		{ sapphire_rapids, ARRAY_SIZE(sapphire_rapids), CPU_INTEL, 6, 0x8f, 8, 0x21, 52,
		  true, true, true, true, true, "Intel(R) Xeon(R) Platinum 8480+" },
		{ zen4, ARRAY_SIZE(zen4), CPU_AMD, 0x19, 0x11, 1, 0, 52, false, false, true, true,
		  true, "AMD EPYC 9124 16-Core Processor" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cpu); i++) {
		const struct cpu_features *f = &cpu_features;

		take(cpu[i].leaf, cpu[i].count);
		assert_int_equal(init(), 0);
		assert_string_equal(f->brand, cpu[i].brand);
		assert_int_equal(f->vendor, cpu[i].vendor);
		assert_int_equal(f->family, cpu[i].family);
		assert_int_equal(f->model, cpu[i].model);
		assert_int_equal(f->stepping, cpu[i].stepping);
		assert_int_equal(f->phys_bits, cpu[i].phys_bits);
		assert_int_equal(f->mwait_hint, cpu[i].hint);
		assert_int_equal(f->tsc_deadline, cpu[i].tsc_deadline);
		assert_int_equal(f->tsc_adjust, cpu[i].tsc_adjust);
		assert_int_equal(f->umip, cpu[i].umip);
		assert_int_equal(f->page_1g, cpu[i].page_1g);
		assert_int_equal(f->invariant_tsc, cpu[i].invariant);
		assert_true(f->mwait && f->arat && f->x2apic && f->xsave && f->nx && f->smep);
		assert_false(f->tcg);
	}
}

/* What is in a leaf that the CPU does not have says nothing. */
static void test_leaves_that_are_not_there(void **)
{
	take(skylake_sp, ARRAY_SIZE(skylake_sp));
	of(0)->eax = 6;
	assert_int_equal(init(), 0);
	assert_false(cpu_features.smep);
	assert_true(cpu_features.arat);
	of(0)->eax = 5;
	assert_int_equal(init(), 0);
	assert_false(cpu_features.arat);
	assert_true(cpu_features.mwait);
	of(0)->eax = 4;
	assert_int_equal(init(), 0);
	assert_false(cpu_features.mwait);
	of(0)->eax = 5;
	of(1)->ecx &= ~(u32)BIT(3);
	assert_int_equal(init(), 0);
	assert_false(cpu_features.mwait);
	of(0x80000000)->eax = 0x80000007;
	assert_int_equal(init(), 0);
	assert_true(cpu_features.invariant_tsc);
	assert_int_equal(cpu_features.phys_bits, 36);
	of(0x80000000)->eax = 0x80000006;
	assert_int_equal(init(), 0);
	assert_false(cpu_features.invariant_tsc);
	assert_true(cpu_features.brand[0]);
	of(0x80000000)->eax = 0x80000003;
	assert_int_equal(init(), 0);
	assert_string_equal(cpu_features.brand, "");
}

static void test_hypervisors(void **)
{
	take(qemu_tcg_max, ARRAY_SIZE(qemu_tcg_max));
	memcpy(&of(0x40000000)->ebx, "TCGTCGTCGTCG", 12);
	assert_int_equal(init(), 0);
	assert_true(cpu_features.hypervisor && cpu_features.tcg);
	/* Without the bit nobody is asked. */
	of(1)->ecx &= ~(u32)BIT(31);
	assert_int_equal(init(), 0);
	assert_false(cpu_features.hypervisor || cpu_features.tcg);
}

static void test_needed(void **)
{
	take(zen4, ARRAY_SIZE(zen4));
	of(1)->edx &= ~(u32)BIT(9);
	assert_int_equal(init(), -ENODEV);
	take(zen4, ARRAY_SIZE(zen4));
	of(0x80000001)->edx &= ~(u32)BIT(20);
	assert_int_equal(init(), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_leaves_that_are_not_there),
		cmocka_unit_test(test_hypervisors),
		cmocka_unit_test(test_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
