/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tools/cpuid-differences.c vmm/cpuid/cpuid_policy.c vmm/cpuid/cpuid_topology.c vmm/cpuid/cpuid_get.c vmm/cpuid/cpuid_table.c vmm/cpuid/cpuid_table_ext.c */
/*
 * CPUID policy on recorded machines. The expected words are the recorded ones
 * with the bits that docs/cpuid.md's list names taken off or put in by number.
 */
#include "cpuid_machines.h"
#include "vmm/cpuid/counters.h"

/*
 * Leaf 1 ECX that each Intel recording loses: dtes64 monitor ds_cpl vmx smx est tm2 sdbg xtpr pdcm
 * dca.
 */
#define INTEL_1_ECX (B(2) | B(3) | B(4) | B(5) | B(6) | B(7) | B(8) | B(11) | B(14) | B(15) | B(18))
/* dts acpi tm pbe */
#define INTEL_1_EDX (B(21) | B(22) | B(29) | B(31))
#define X2APIC B(21)
#define TSC_DEADLINE B(24)
#define OSXSAVE B(27)
#define HYPERVISOR B(31)

static void qemu(void **)
{
	build(QEMU);
	expect(0, 0, 0xd, 0x68747541, 0x444d4163, 0x69746e65);
	expect(1, 0, 0x663, 0x00000800, (0xf6f8320b & ~B(3)) | TSC_DEADLINE, 0x0fcbfbfd & ~B(22));
	expect(6, 0, 4, 0, 0, 0);
	expect(7, 0, 1, 0x219c43a9 & ~B(14), 0x8041020c & ~(B(16) | B(31)), 0x10);
	expect(7, 1, 0x1c80, 0, 0, 0);
	expect(0xd, 0, 0x207, 576, 0xa88, 0);
	expect(0xd, 3, 0, 0, 0, 0); /* MPX */
	expect(0xd, 9, 8, 0xa80, 0, 0);
	expect(0x80000000, 0, 0x8000000a, 0x68747541, 0x444d4163, 0x69746e65);
	expect(0x80000001, 0, 0x663, 0, 0x177 & ~B(2), 0xedd3fbfd);
	expect(0x80000007, 0, 0, 0, 0, 0);
	expect(0x80000008, 0, 0x3028, 0x204 | B(20), 0, 0); /* efer_lmsle_mbz */
	expect(0x8000000a, 0, 0, 0, 0, 0); /* SVM */
	/* AMD: zeros above the maxima. */
	expect(0x15, 0, 0, 0, 0, 0);
	expect(0x80000021, 0, 0, 0, 0, 0);
}

static void bochs(void **)
{
	build(BOCHS);
	expect(1, 0, 0x306c3, 0x00010800, (0x77faf3bf & ~INTEL_1_ECX) | HYPERVISOR,
	       0xbfebfbff & ~INTEL_1_EDX);
	expect(2, 0, 0x76036301, 0x00f0b5ff, 0, 0x00c10000);
	expect(4, 0, 0x1c004121, 0x01c0003f, 0x3f, 0);
	expect(4, 3, 0x1c03c163, 0x03c0003f, 0x1fff, 6);
	expect(4, 4, 0, 0, 0, 0);
	expect(5, 0, 0, 0, 0, 0);
	expect(6, 0, 4, 0, 0, 0);
	expect(7, 0, 0, 0x27ab, 0, 0);
	expect(0xa, 0, 0, 0, 0, 0);
	expect(0xd, 0, 7, 576, 0x340, 0);
	expect(0x80000001, 0, 0, 0, 0x21, 0x2c100800);
	expect(0x80000007, 0, 0, 0, 0, 0x100);
	expect(0x80000008, 0, 0x3028, 0, 0, 0);
	/* Intel: above the maxima the highest basic leaf. */
	expect(0x15, 0, 7, 576, 0x340, 0);
	expect(0x15, 2, 0x100, 0x240, 0, 0);
	expect(0x80000009, 0, 7, 576, 0x340, 0);
	expect(0x8000001d, 0, 7, 576, 0x340, 0);
}

static void skylake(void **)
{
	build(SKYLAKE);
	expect(1, 0, 0x50654, 0x00400800, (0x7ffefbff & ~INTEL_1_ECX & ~OSXSAVE) | HYPERVISOR,
	       0xbfebfbff & ~INTEL_1_EDX);
	expect(4, 3, 0x7c0fc163, 0x0280003f, 0x8fff, 4);
	expect(7, 0, 0, 0xd39ffffb & ~(B(12) | B(14) | B(15) | B(25)), 8, 0);
	expect(0xf, 0, 0, 0, 0, 0);
	expect(0x10, 0, 0, 0, 0, 0);
	expect(0x14, 0, 0, 0, 0, 0);
	/* TSC = crystal * EBX / EAX = 1 MHz * 2994375 / 1000 */
	expect(0x15, 0, 1000, 2994375, 1000000, 0);
	expect(0x16, 0, 3000, 3700, 100, 0);
	expect(0x80000001, 0, 0, 0, 0x121, 0x2c100800);
	expect(0x80000008, 0, 0x302e, 0, 0, 0);
	assert_int_equal(table.phys_bits, 46);
	assert_int_equal(table.xcr0_allowed, 0x2e7);
	assert_int_equal(table.xss_allowed, 0);
}

static void sapphire(void **)
{
	build(SAPPHIRE);
	expect(0, 0, 0x20, 0x756e6547, 0x6c65746e, 0x49656e69);
	/* sgx cqm rdt_a intel_pt; shstk ospke tme la57 bus_lock_detect enqcmd sgx_lc pks;
	   sgx_keys uintr pconfig arch_lbr ibt core_capabilities */
	expect(7, 0, 2, 0xf3bfbfff & ~(B(2) | B(12) | B(15) | B(25)),
	       0xfb417ffe & ~(B(4) | B(7) | B(13) | B(16) | B(24) | B(29) | B(30) | B(31)),
	       0xffdd4432 & ~(B(1) | B(5) | B(18) | B(19) | B(20) | B(30)));
	expect(7, 1, 0x1c30, 0, 0, 0);
	expect(7, 2, 0, 0, 0, 0x17);
	expect(7, 3, 0, 0, 0, 0);
	expect(0xd, 0, 0x602e7, 576, 0x2b00, 0);
	expect(0xd, 1, 0x1f, 576, 0, 0);
	expect(0xd, 11, 0, 0, 0, 0); /* CET user state: XSS allows none */
	expect(0xd, 18, 0x2000, 0xb00, 6, 0);
	expect(0x18, 0, 8, 0, 0, 0);
	expect(0x18, 1, 0, 0x80001, 0x10, 0x4022);
	expect(0x1c, 0, 0, 0, 0, 0);
	expect(0x1d, 0, 1, 0, 0, 0);
	expect(0x1d, 1, 0x04002000, 0x00080040, 0x10, 0);
	expect(0x1e, 0, 0, 0x4010, 0, 0);
	expect(0x80000008, 0, 0x3034, 0x200, 0, 0);
}

static void zen(void **)
{
	build(ZEN4);
	expect(1, 0, 0xa10f11, 0x00200800,
	       (0x7efa320b & ~(B(3) | OSXSAVE)) | X2APIC | TSC_DEADLINE | HYPERVISOR, 0x178bfbff);
	expect(7, 0, 1, 0xf1bf97a9 & ~(B(12) | B(15)), 0x00415fce & ~(B(7) | B(16)), 0x10000010);
	expect(0x80000000, 0, 0x80000021, 0x68747541, 0x444d4163, 0x69746e65);
	/*
	 * What is left: lahf_lm cmp_legacy cr8_legacy abm sse4a misalignsse 3dnowprefetch tce
	 * topoext
	 */
	expect(0x80000001, 0, 0xa10f11, 0x40000000, 0x004201f3, 0x2fd3fbff);
	expect(0x80000005, 0, 0xff48ff40, 0xff48ff40, 0x20080140, 0x20080140);
	expect(0x80000007, 0, 0, 0, 0, 0x100);
	/* irperf invlpgb rdpru mba int_wbinvd invlpgb_nested amd_ppin cppc */
	expect(0x80000008, 0, 0x3034,
	       0x79bef25f & ~(B(1) | B(3) | B(4) | B(6) | B(13) | B(21) | B(23) | B(27)), 0x601f,
	       0);
	expect(0x8000000a, 0, 0, 0, 0, 0);
	expect(0x80000019, 0, 0xf048f040, 0xf0400000, 0, 0);
	expect(0x8000001a, 0, 6, 0, 0, 0);
	expect(0x8000001b, 0, 0, 0, 0, 0);
	expect(0x8000001d, 3, 0x1c163, 0x03c0003f, 0x3fff, 1);
	expect(0x8000001f, 0, 0, 0, 0, 0);
	/* smm_pg_cfg_lock uai prefetch_ctl_msr cpuid_user_dis */
	expect(0x80000021, 0, 0x00062fcf & ~(B(3) | B(7) | B(13) | B(17)), 0, 0, 0);
	expect(0x80000022, 0, 0, 0, 0, 0);
	assert_int_equal(table.efer_allowed, EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE |
						     EFER_FFXSR | EFER_TCE | EFER_AUTOIBRS);
	assert_int_equal(table.cr4_allowed, CR4_VME | CR4_PVI | CR4_TSD | CR4_DE | CR4_PSE |
						    CR4_PAE | CR4_MCE | CR4_PGE | CR4_PCE |
						    CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_UMIP |
						    CR4_FSGSBASE | CR4_PCIDE | CR4_OSXSAVE |
						    CR4_SMEP | CR4_SMAP | CR4_PKE);
}

/*
 * Like Zen 4, with mcommit of Zen 2, and l2_tlb_size_x32 (the size of L2's TLBs is told in units of
 * 32) and eraps of Zen 5.
 */
static void zen_with_more(void *ctx, u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	recorded(ctx, leaf, subleaf, out);
	if (leaf == 0x80000008)
		out->ebx |= B(8);
	if (leaf == 0x80000021)
		out->eax |= B(14) | B(24);
}

static void other_zens(void **)
{
	struct cpuid_input in = {
		.host = zen_with_more,
		.ctx = (void *)&machines[ZEN4],
		.caps = &all_caps,
		.nr_vcpus = 1,
		.tsc_khz = 2994375,
	};

	assert_int_equal(cpuid_policy_build(&in, &table), 0);
	assert_int_equal(get(0x80000008, 0).ebx & (B(8) | B(9)), B(9));
	assert_int_equal(get(0x80000021, 0).eax & (B(14) | B(24)), B(14));
}

/*
 * The topology leaves are the host's own, with the vCPU's APIC ID, whatever CPU the table was built
 * on.
 */
static void topology_of_the_node(void **)
{
	build(SAPPHIRE);
	dyn.apic_id = 0x123;
	for (u32 leaf = 0xb; leaf <= 0x1f; leaf += 0x1f - 0xb) {
		expect(leaf, 0, 1, 2, 0x100, 0x123);
		expect(leaf, 1, 7, 0x70, 0x201, 0x123);
		expect(leaf, 2, 0, 0, 2, 0x123);
	}
	build(ZEN4);
	dyn = (struct cpuid_dynamic){ .apic_id = 0x25 };
	expect(0x8000001e, 0, 0x25, 0x100, 0, 0);
	assert_int_equal(cpuid_smt_shift(recorded, (void *)&machines[SAPPHIRE]), 1);
	assert_int_equal(cpuid_smt_shift(recorded, (void *)&machines[ZEN4]), 1);
	assert_int_equal(cpuid_smt_shift(recorded, (void *)&machines[BOCHS]), 0);
	assert_int_equal(cpuid_smt_shift(recorded, (void *)&machines[QEMU]), 0);
}

/* Two threads by leaf 0x8000001E alone. */
static void only_amd_leaf(void *ctx, u32 leaf, u32, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	if (leaf == 0)
		out->eax = *(u32 *)ctx;
	else if (leaf == 0x80000000)
		out->eax = 0x8000001e;
	else if (leaf == 0x8000001e)
		out->ebx = 0x100;
}

static void threads_by_amd_leaf(void **)
{
	u32 max = 7;

	assert_int_equal(cpuid_smt_shift(only_amd_leaf, &max), 1);
	/* A leaf 0xB of zeros says nothing. */
	max = 0xb;
	assert_int_equal(cpuid_smt_shift(only_amd_leaf, &max), 1);
}

/*
 * Alder Lake's two kinds of cores, and one without the last cache: leaves 4.3, 0xB, 0x16, 0x1A and
 * 0x80000006 of each.
 */
static struct core {
	struct cpuid_regs cache;
	struct cpuid_regs thread;
	struct cpuid_regs mhz;
	struct cpuid_regs kind;
	struct cpuid_regs l2;
} p_core = {
	{ 0xfc1fc163, 0x0240003f, 0x9fff, 4 }, { 1, 2, 0x100, 0 }, { 3200, 5200, 100, 0 },
	{ 0x40000001, 0, 0, 0 },
	{ 0, 0, 0x05007040, 0 },
}, e_core = {
	{ 0xfc1fc163, 0x0240003f, 0x9fff, 4 }, { 1, 1, 0x100, 0 }, { 2400, 3900, 100, 0 },
	{ 0x20000001, 0, 0, 0 },
	{ 0, 0, 0x08008040, 0 },
}, low_power = {
	{ 0, 0, 0, 0 }, { 1, 1, 0x100, 0 }, { 700, 2500, 100, 0 },
	{ 0x20000003, 0, 0, 0 }, { 0, 0, 0x08008040, 0 },
};

static void hybrid(void *ctx, u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	const struct core *now = *(struct core **)ctx;

	recorded((void *)&machines[SAPPHIRE], leaf, subleaf, out);
	if (leaf == 4 && subleaf == 3)
		*out = now->cache;
	else if (leaf == 7 && subleaf == 0)
		out->edx |= B(15);
	else if (leaf == 0xb && subleaf == 0)
		*out = now->thread;
	else if (leaf == 0x16)
		*out = now->mhz;
	else if (leaf == 0x1a)
		*out = now->kind;
	else if (leaf == 0x80000006)
		*out = now->l2;
}

static void expect_regs(u32 leaf, u32 subleaf, struct cpuid_regs r)
{
	expect(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
}

/* The table is built on one core; each vCPU is told of its own. */
static void cores_of_their_own(void **)
{
	struct core *const cores[] = { &p_core, &e_core, &low_power }, *now = &p_core;
	struct cpuid_input in = {
		.host = hybrid, .ctx = &now, .caps = &all_caps, .nr_vcpus = 3, .tsc_khz = 2994375
	};

	assert_int_equal(cpuid_policy_build(&in, &table), 0);
	dyn = (struct cpuid_dynamic){ .xcr0 = 1 };
	for (unsigned i = 0; i < ARRAY_SIZE(cores); i++) {
		now = cores[i];
		assert_int_equal(get(7, 0).edx & B(15), B(15));
		expect_regs(4, 3, now->cache);
		expect_regs(0xb, 0, now->thread);
		expect_regs(0x16, 0, now->mhz);
		expect_regs(0x1a, 0, now->kind);
		expect_regs(0x80000006, 0, now->l2);
		assert_null(cpuid_policy_plain(&table, 0x16));
	}
	/*
	 * Flat: the same with one package around it; behind the low-power core's last cache there
	 * is none.
	 */
	in.flat = true;
	assert_int_equal(cpuid_policy_build(&in, &table), 0);
	expect(4, 3, 0, 0, 0, 0);
	expect(0x1a, 0, 0x20000003, 0, 0, 0);
	now = &p_core;
	expect(4, 3, 3u << 26 | 3 << 14 | 0x163, 0x0240003f, 0x9fff, 4);
	expect(0xb, 0, 0, 1, 0x100, 0);
}

/*
 * Only AMD's CPUs have the bit that says there is no EFER.LMSLE; a guest of theirs has none to set.
 */
static void no_lmsle(void **)
{
	build(QEMU);
	assert_int_equal(get(0x80000008, 0).ebx & B(20), B(20));
	build(ZEN4);
	assert_int_equal(get(0x80000008, 0).ebx & B(20), B(20));
	assert_int_equal(table.efer_allowed & EFER_LMSLE, 0);
	build(SAPPHIRE);
	assert_int_equal(get(0x80000008, 0).ebx & B(20), 0);
}

/* The local APIC is the CPU's own: its timer as it is, and no clock of the monitor's. */
static void direct_interrupts(void **)
{
	bool some[2] = { false, false };
	unsigned mwaits = 0;

	for (unsigned m = 0; m < ARRAY_SIZE(machines); m++) {
		struct cpuid_input in = {
			.host = recorded,
			.ctx = (void *)&machines[m],
			.caps = &all_caps,
			.nr_vcpus = 1,
			.tsc_khz = 2994375,
			.direct = true,
			.mwait = true,
		};
		struct cpuid_regs l1, l5, l6 = { 0 }, l7, e1;

		dyn = (struct cpuid_dynamic){ .apic_enabled = true, .xcr0 = 1 };
		assert_int_equal(cpuid_policy_build(&in, &table), 0);
		recorded(in.ctx, 1, 0, &l1);
		recorded(in.ctx, 6, 0, &l6);
		assert_int_equal(get(1, 0).ecx & TSC_DEADLINE, l1.ecx & TSC_DEADLINE);
		assert_int_equal(get(6, 0).eax, l6.eax & B(2));
		some[!(l1.ecx & TSC_DEADLINE)] = true;
		assert_int_equal(get(0x15, 0).ecx == 1000000, false);
		expect(0x40000010, 0, 2994375, 0, 0, 0);
		assert_int_equal(get(0x40000101, 0).edx, 0);
		/* MONITOR and MWAIT, and MONITORX and MWAITX, with their leaf as it is. */
		recorded(in.ctx, 5, 0, &l5);
		recorded(in.ctx, 7, 1, &l7);
		recorded(in.ctx, 0x80000001, 0, &e1);
		assert_int_equal(get(1, 0).ecx & B(3), l1.ecx & B(3));
		expect(5, 0, l5.eax, l5.ebx, l5.ecx, l5.edx);
		assert_int_equal(get(7, 1).edx & B(23), l7.edx & B(23));
		assert_int_equal(get(0x80000001, 0).ecx & B(29), e1.ecx & B(29));
		mwaits |= (l1.ecx & l5.edx ? 1 : 0) | (e1.ecx & B(29) ? 2 : 0);
		in.mwait = false;
		assert_int_equal(cpuid_policy_build(&in, &table), 0);
		assert_int_equal(get(1, 0).ecx & B(3), 0);
		expect(5, 0, 0, 0, 0, 0);
		assert_int_equal(get(7, 1).edx & B(23), 0);
		assert_int_equal(get(0x80000001, 0).ecx & B(29), 0);
		in.direct = false;
		assert_int_equal(cpuid_policy_build(&in, &table), 0);
		expect(0x40000010, 0, 2994375, 1000, 0, 0);
		assert_int_equal(get(0x40000101, 0).edx, 1);
		assert_true(get(1, 0).ecx & TSC_DEADLINE && get(6, 0).eax & B(2));
	}
	assert_true(some[0] && some[1] && mwaits == 3);
}

/*
 * counters = yes: Intel's by version 2, with the machine's own numbers and widths; AMD's by their
 * bit alone.
 */
static void counters(void **)
{
	bool some = false;

	for (unsigned m = 0; m < ARRAY_SIZE(machines); m++) {
		struct cpuid_input in = {
			.host = recorded,
			.ctx = (void *)&machines[m],
			.caps = &all_caps,
			.nr_vcpus = 1,
			.tsc_khz = 2994375,
			.counters = true,
		};
		struct cpuid_regs a = { 0 }, ext;

		dyn = (struct cpuid_dynamic){ .apic_enabled = true, .xcr0 = 1 };
		assert_int_equal(cpuid_policy_build(&in, &table), 0);
		recorded(in.ctx, 0xa, 0, &a);
		if ((a.eax & 0xff) >= 2)
			expect(0xa, 0, (a.eax & ~0xffu) | 2, a.ebx, 0,
			       (a.edx & 0x1fe0) | ((a.edx & 31) > 3 ? 3 : a.edx & 31));
		else
			expect(0xa, 0, 0, 0, 0, 0);
		recorded(in.ctx, 0x80000001, 0, &ext);
		assert_int_equal(get(0x80000001, 0).ecx & B(23), ext.ecx & B(23));
		some = some || ext.ecx & B(23);
		in.counters = false;
		assert_int_equal(cpuid_policy_build(&in, &table), 0);
		expect(0xa, 0, 0, 0, 0, 0);
		assert_int_equal(get(0x80000001, 0).ecx & B(23), 0);
	}
	assert_true(some);
}

/* Which counters leaf 0xA offers, by words made up: version, number, fixed ones. */
static void counters_offered(void **)
{
	static const struct {
		u32 eax;
		u32 edx;
		u8 general;
		u8 fixed;
	} of[] = {
		{ 0x07300401, 0x603, 0, 0 },
		{ 0x07300402, 0x603, 4, 3 },
		{ 0x08301005, 0x8604, 8, 3 },
		{ 0x07300803, 0x602, 8, 2 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(of); i++) {
		struct counters c =
			counters_told(&(struct cpuid_regs){ .eax = of[i].eax, .edx = of[i].edx });

		assert_true(c.general == of[i].general && c.fixed == of[i].fixed && !c.amd);
	}
}

static void build_flat(unsigned machine, unsigned nr_vcpus)
{
	struct cpuid_input in = {
		.host = recorded,
		.ctx = (void *)&machines[machine],
		.caps = &all_caps,
		.nr_vcpus = nr_vcpus,
		.flat = true,
		.tsc_khz = 2994375,
	};

	dyn = (struct cpuid_dynamic){ .apic_enabled = true, .xcr0 = 1, .apic_id = 5 };
	assert_int_equal(cpuid_policy_build(&in, &table), 0);
}

/* One package; six cores take three bits of the APIC ID; only the outermost cache is shared. */
static void topology_flat(void **)
{
	build_flat(SKYLAKE, 6);
	assert_int_equal(get(1, 0).ebx >> 16, 0x0506);
	assert_int_equal(get(1, 0).edx >> 28 & 1, 1);
	expect(4, 2, 7u << 26 | 0x143, 0x03c0003f, 0x3ff, 0);
	expect(4, 3, 7u << 26 | 7 << 14 | 0x163, 0x0280003f, 0x8fff, 4);
	expect(0xb, 0, 0, 1, 0x100, 5);
	expect(0xb, 1, 3, 6, 0x201, 5);
	expect(0xb, 2, 0, 0, 2, 5);
	build_flat(ZEN4, 6);
	assert_int_equal(get(0x80000001, 0).ecx & 2, 2);
	assert_int_equal(get(0x80000008, 0).ecx, 3 << 12 | 5);
	expect(0x8000001d, 2, 0x143, 0x01c0003f, 0x7ff, 2);
	expect(0x8000001d, 3, 5 << 14 | 0x163, 0x03c0003f, 0x3fff, 1);
	build_flat(ZEN4, 1);
	assert_int_equal(get(0x80000001, 0).ecx & 2, 0);
	assert_int_equal(get(1, 0).edx >> 28 & 1, 0);
	expect(0xb, 1, 0, 1, 0x201, 5);
}

static u32 pick(struct cpuid_regs r, unsigned reg)
{
	if (reg == CPUID_EAX)
		return r.eax;
	if (reg == CPUID_EBX)
		return r.ebx;
	return reg == CPUID_ECX ? r.ecx : r.edx;
}

/* With able hardware, a bit that has no documented reason is the host's own, on every machine. */
static void check_row(unsigned machine, const struct cpuid_row *row)
{
	u32 leaf = cpuid_row_leaf(row), max = leaf < 0x80000000 ? table.max_basic : table.max_ext;
	struct cpuid_regs h;
	bool guest, native;

	recorded((void *)&machines[machine], leaf, row->subleaf, &h);
	if (leaf > max)
		return;
	guest = pick(get(leaf, row->subleaf), row->reg) >> row->bit & 1;
	native = pick(h, row->reg) >> row->bit & 1;
	if (guest != native && !row->reason)
		fail_msg("%s: %s: host %d, guest %d, and no reason", machines[machine].name,
			 row->name, native, guest);
	if (row->rule == HIDE && guest)
		fail_msg("%s: %s: hidden, but shown", machines[machine].name, row->name);
	if (row->rule == FORCE && !row->need && !guest)
		fail_msg("%s: %s: forced, but not shown", machines[machine].name, row->name);
}

static void every_difference_has_a_reason(void **)
{
	for (unsigned m = 0; m < ARRAY_SIZE(machines); m++) {
		build(m);
		for (unsigned i = 0; i < cpuid_rows_basic_count; i++)
			check_row(m, &cpuid_rows_basic[i]);
		for (unsigned i = 0; i < cpuid_rows_ext_count; i++)
			check_row(m, &cpuid_rows_ext[i]);
		for (unsigned i = 0; i < cpuid_rows_hidden_count; i++)
			check_row(m, &cpuid_rows_hidden[i]);
	}
}

static void check_rows(const struct cpuid_row *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert_true(rows[i].bit < 32 && rows[i].reg <= CPUID_EDX);
		assert_non_null(rows[i].name);
		if (rows[i].rule != SHOW || rows[i].need)
			assert_non_null(rows[i].reason);
		for (unsigned k = 0; k < i; k++) {
			assert_string_not_equal(rows[i].name, rows[k].name);
			assert_false(cpuid_row_leaf(&rows[i]) == cpuid_row_leaf(&rows[k]) &&
				     rows[i].subleaf == rows[k].subleaf &&
				     rows[i].reg == rows[k].reg && rows[i].bit == rows[k].bit);
		}
	}
}

static void rows_are_sane(void **)
{
	static struct cpuid_row all[512];
	struct cpuid_difference d;
	unsigned n = 0;
	bool vmx = false, svm = false;

	/* Of all tables together: what is hidden is shown nowhere. */
	assert_true(cpuid_rows_basic_count + cpuid_rows_ext_count + cpuid_rows_hidden_count <=
		    ARRAY_SIZE(all));
	memcpy(all, cpuid_rows_basic, cpuid_rows_basic_count * sizeof(all[0]));
	memcpy(all + cpuid_rows_basic_count, cpuid_rows_ext, cpuid_rows_ext_count * sizeof(all[0]));
	memcpy(all + cpuid_rows_basic_count + cpuid_rows_ext_count, cpuid_rows_hidden,
	       cpuid_rows_hidden_count * sizeof(all[0]));
	check_rows(all, cpuid_rows_basic_count + cpuid_rows_ext_count + cpuid_rows_hidden_count);
	for (; cpuid_policy_documented_hidden(n, &d); n++) {
		assert_non_null(d.name);
		assert_non_null(d.change);
		assert_non_null(d.reason);
		vmx |= !strcmp(d.name, "vmx") && !strcmp(d.change, "hidden");
		svm |= d.leaf == 0x8000000a;
	}
	assert_true(vmx && svm);
	assert_false(cpuid_policy_documented_hidden(n + 1000, &d));
}

static void table_is_sorted(void **)
{
	for (unsigned m = 0; m < ARRAY_SIZE(machines); m++) {
		build(m);
		for (unsigned i = 1; i < table.count; i++) {
			const struct cpuid_entry *a = &table.entry[i - 1], *b = &table.entry[i];

			assert_true(a->leaf < b->leaf ||
				    (a->leaf == b->leaf && a->subleaf < b->subleaf));
		}
	}
}

static void fill(void *ctx, u32, u32, struct cpuid_regs *out)
{
	memset(out, *(int *)ctx, sizeof(*out));
}

/* A host whose CPUID makes no sense costs neither memory nor time. */
static void odd_hosts(void **)
{
	static const int patterns[] = { 0xff, 0x00, 0x55, 0xaa, 0x80 };
	struct cpuid_input in = { .host = fill, .caps = &all_caps, .nr_vcpus = 1 };

	for (unsigned i = 0; i < ARRAY_SIZE(patterns); i++) {
		in.ctx = (void *)&patterns[i];
		assert_int_equal(cpuid_policy_build(&in, &table), 0);
		dyn = (struct cpuid_dynamic){
			.apic_id = ~0u, .cr4 = ~0ull, .xcr0 = ~0ull, .xss = ~0ull
		};
		for (u32 leaf = 0; leaf < 0x80; leaf++)
			for (u32 subleaf = 0; subleaf < 70; subleaf++) {
				get(leaf, subleaf);
				get(leaf | 0x40000000, subleaf);
				get(leaf | 0x80000000, subleaf);
				get(leaf | 0xfffffff0, subleaf);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qemu),
		cmocka_unit_test(bochs),
		cmocka_unit_test(skylake),
		cmocka_unit_test(sapphire),
		cmocka_unit_test(zen),
		cmocka_unit_test(other_zens),
		cmocka_unit_test(topology_of_the_node),
		cmocka_unit_test(threads_by_amd_leaf),
		cmocka_unit_test(cores_of_their_own),
		cmocka_unit_test(no_lmsle),
		cmocka_unit_test(topology_flat),
		cmocka_unit_test(direct_interrupts),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_offered),
		cmocka_unit_test(every_difference_has_a_reason),
		cmocka_unit_test(rows_are_sane),
		cmocka_unit_test(table_is_sorted),
		cmocka_unit_test(odd_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
