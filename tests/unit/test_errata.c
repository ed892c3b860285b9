/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Errata: which CPUs have which bits set, that firmware's others stay, and where memory is kept
 * away from elided locks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/cpuid_recorded.h"

static struct {
	u32 msr;
	u64 value;
} msrs[] = { { 0xc0011020, 0 }, { 0xc0011028, 0 }, { 0xc001102e, 0 } };
static unsigned nr_msrs, writes, lines;
static u32 leaf7_ebx, leaf8_ebx, revision;

static void fake_cpuid(u32 leaf, u32, struct cpuid_regs *r)
{
	*r = (struct cpuid_regs){ .ebx = ~0u };
	if (leaf == 7)
		r->ebx = leaf7_ebx;
	if (leaf == 0x80000008)
		r->ebx = leaf8_ebx;
}

#define cpuid fake_cpuid
#include "arch/x86_64/cpu/errata.c"
#include "arch/x86_64/cpu/errata_deadline.c"

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

u32 microcode_revision(enum cpu_vendor vendor)
{
	assert_int_equal(vendor, CPU_INTEL);
	return revision;
}

void upcall_log(const char *, ...)
{
	lines++;
}

static void start(enum cpu_vendor vendor, u32 family, u32 model)
{
	cpu_features = (struct cpu_features){
		.vendor = vendor,
		.family = family,
		.model = model,
		.max_basic = 0xd,
		.max_ext = 0x8000001e,
	};
	nr_msrs = ARRAY_SIZE(msrs);
	for (unsigned i = 0; i < nr_msrs; i++)
		msrs[i].value = 0x1010;
	leaf7_ebx = leaf8_ebx = writes = lines = revision = 0;
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
	start(CPU_INTEL, 0x19, 0x11);
	expect(0, 0, 0);
}

/* Erratum 1485, of Zen 4's models; those between are Zen 3's. */
static void test_1485(void **)
{
	static const u8 has[] = { 0x10, 0x11, 0x1f, 0x60, 0x61, 0xa0, 0xaf };
	static const u8 has_not[] = { 0x00, 0x01, 0x0f, 0x20, 0x44, 0x5f, 0xb0 };

	for (unsigned i = 0; i < ARRAY_SIZE(has); i++) {
		start(CPU_AMD, 0x19, has[i]);
		leaf8_ebx = i & 1 ? 1 << 15 : 0;
		expect(0, 0, 1 << 5);
		start(CPU_AMD, 0x19, has_not[i]);
		leaf8_ebx = 1 << 15;
		expect(0, 0, 0);
		start(CPU_AMD, 0x1a, has[i]);
		expect(0, 0, 0);
	}
}

/* Is the timer used on this CPU with that microcode? Then a guest's CPUID has its bit, too. */
static bool deadline(u32 model, u32 stepping, u32 microcode)
{
	struct cpuid_regs r = { 0, 0, ~0u, 0 }, other = r;

	start(CPU_INTEL, 6, model);
	cpu_features.stepping = stepping;
	cpu_features.tsc_deadline = true;
	revision = microcode;
	errata_init();
	/* Another CPU with less says no more, and takes nothing from those that use it. */
	revision = 1;
	errata_init_cpu();
	assert_int_equal(lines, !cpu_features.tsc_deadline);
	assert_int_equal(writes, 0);
	errata_mask_cpuid(1, &r);
	errata_mask_cpuid(7, &other);
	assert_int_equal(r.ecx, cpu_features.tsc_deadline ? ~0u : ~(u32)BIT(24));
	assert_true(other.ecx == ~0u && !r.eax && !r.ebx && !r.edx);
	return cpu_features.tsc_deadline;
}

static void test_deadline(void **)
{
	static const struct {
		u32 model;
		u32 stepping;
		u32 good;
	} needs[] = {
		{ 0x3f, 2, 0x3a },       { 0x3f, 4, 0x0f },       { 0x3c, 3, 0x22 },
		{ 0x45, 1, 0x20 },       { 0x46, 1, 0x17 },       { 0x4f, 1, 0x0b000020 },
		{ 0x56, 2, 0x11 },       { 0x56, 3, 0x0700000e }, { 0x56, 4, 0x0f00000c },
		{ 0x56, 5, 0x0e000003 }, { 0x3d, 4, 0x25 },       { 0x47, 1, 0x17 },
		{ 0x55, 3, 0x01000136 }, { 0x55, 4, 0x02000014 }, { 0x4e, 3, 0xb2 },
		{ 0x5e, 3, 0xb2 },       { 0x8e, 9, 0x52 },       { 0x9e, 9, 0x52 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(needs); i++) {
		assert_false(deadline(needs[i].model, needs[i].stepping, needs[i].good - 1));
		assert_true(deadline(needs[i].model, needs[i].stepping, needs[i].good));
		/* None at all is an emulator's. */
		assert_true(deadline(needs[i].model, needs[i].stepping, 0));
	}
	/* Other steppings, and others. */
	assert_true(deadline(0x3f, 3, 1) && deadline(0x55, 7, 1) && deadline(0x56, 1, 1) &&
		    deadline(0x6a, 6, 1));
	/* Without the timer, with a hypervisor below, or of another vendor: nothing. */
	start(CPU_INTEL, 6, 0x3c);
	revision = 1;
	errata_init();
	assert_int_equal(lines, 0);
	cpu_features.tsc_deadline = cpu_features.hypervisor = true;
	errata_init();
	assert_true(cpu_features.tsc_deadline && !lines);
	start(CPU_AMD, 6, 0x3c);
	revision = 1;
	cpu_features.tsc_deadline = true;
	errata_init();
	assert_true(cpu_features.tsc_deadline && !lines);
}

/* The recorded CPUs: what each has set, and which microcode its timer needs. */
static void test_recorded(void **)
{
	static const struct {
		const struct recorded_leaf *leaf;
		unsigned count;
		u64 bp_cfg;
		u32 needs;
	} cpus[] = {
		{ qemu_tcg_max, ARRAY_SIZE(qemu_tcg_max), 0, 0 },
		{ bochs_haswell, ARRAY_SIZE(bochs_haswell), 0, 0x22 },
		{ skylake_sp, ARRAY_SIZE(skylake_sp), 0, 0x02000014 },
		{ sapphire_rapids, ARRAY_SIZE(sapphire_rapids), 0, 0 },
		{ zen4, ARRAY_SIZE(zen4), 1 << 5, 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++)
		for (unsigned old = 0; old < 2; old++) {
			struct cpuid_regs l0 = { 0 }, l1 = { 0 };

			for (unsigned n = 0; n < cpus[i].count; n++) {
				l0 = cpus[i].leaf[n].leaf == 0 ? cpus[i].leaf[n].regs : l0;
				l1 = cpus[i].leaf[n].leaf == 1 ? cpus[i].leaf[n].regs : l1;
			}
			start(cpu_vendor(&l0), cpu_family(l1.eax), cpu_model(l1.eax));
			for (unsigned n = 0; n < cpus[i].count; n++)
				leaf8_ebx = cpus[i].leaf[n].leaf == 0x80000008
						    ? cpus[i].leaf[n].regs.ebx
						    : leaf8_ebx;
			cpu_features.stepping = l1.eax & 0xf;
			cpu_features.hypervisor = l1.ecx & BIT(31);
			cpu_features.tsc_deadline = true;
			revision = cpus[i].needs ? cpus[i].needs - old : 1;
			errata_init();
			expect(0, 0, cpus[i].bp_cfg);
			assert_int_equal(cpu_features.tsc_deadline, !(cpus[i].needs && old));
		}
}

/*
 * CPUs whose numbers /proc/cpuinfo, lscpu or a kernel's log has shown in public, each with its
 * report; of AMD's whether they had stibp.
 */
static void test_reported(void **)
{
	static const struct {
		enum cpu_vendor vendor;
		u32 family;
		u32 model;
		u32 stepping;
		u32 microcode;
		u64 fp;
		u64 bp;
		bool stibp;
		bool timer;
	} cpus[] = {
		/*
		 * Core i5-4200M: "TSC_DEADLINE disabled due to Errata; please update microcode to
		 * version: 0x22" (github.com/OpenMandrivaAssociation/distribution, issue 2230).
		 */
		{ CPU_INTEL, 6, 0x3c, 3, 0x16, 0, 0, false, false },
		/* Xeon E5-2698 v3 (ajaiantilal/i7z, 9), E5-2660 v3 (FOXBI/ch_cpuinfo, 43) */
		{ CPU_INTEL, 6, 0x3f, 2, 37, 0, 0, false, false },
		{ CPU_INTEL, 6, 0x3f, 2, 0x43, 0, 0, false, true },
		/* Xeon E5-2650 v4 (intel/Intel-Linux-Processor-Microcode-Data-Files, 6) */
		{ CPU_INTEL, 6, 0x4f, 1, 0x0b00002e, 0, 0, false, true },
		/* EPYC 7351P, of Zen, without stibp (liske/needrestart, 150) */
		{ CPU_AMD, 0x17, 1, 2, 0x08001230, 1 << 9, 0, false, true },
		/* EPYC 7V12, of Zen 2 (cyring/CoreFreq, 388; stibp: avocado-vt, 2959) */
		{ CPU_AMD, 0x17, 0x31, 0, 0x08301034, 0, 1ull << 33, true, true },
		/* EPYC 74F3, of Zen 3 (nviennot/core-to-core-latency, 33; microcode unknown) */
		{ CPU_AMD, 0x19, 1, 1, 0, 0, 0, true, true },
		/* EPYC 9374F, of Zen 4 (jemalloc/jemalloc, 2729) */
		{ CPU_AMD, 0x19, 0x11, 1, 0x0a101148, 0, 1 << 5, true, true },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++) {
		start(cpus[i].vendor, cpus[i].family, cpus[i].model);
		cpu_features.stepping = cpus[i].stepping;
		cpu_features.tsc_deadline = true;
		revision = cpus[i].microcode;
		leaf8_ebx = cpus[i].stibp ? 1 << 15 : 0;
		errata_init();
		expect(0, cpus[i].fp, cpus[i].bp);
		assert_int_equal(cpu_features.tsc_deadline, cpus[i].timer);
	}
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
	static const u32 has[] = { 0x4e, 0x55, 0x5e, 0x8e, 0x9e },
			 has_not[] = { 0x3f, 0x4f, 0x6a, 0xa5 };

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
		cmocka_unit_test(test_amd),      cmocka_unit_test(test_1485),
		cmocka_unit_test(test_deadline), cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_reported), cmocka_unit_test(test_below),
		cmocka_unit_test(test_hle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
