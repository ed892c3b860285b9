/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/mitigations.c arch/x86_64/cpu/mitigation_words.c lib/span.c */
/*
 * What is decided for recorded CPUs (InstLatx64's dumps; what the vendors and Linux say of each
 * beside it), and the words. tools/recorded-cpus compares all dumps with an oracle of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/mitigations.h"

/* CPUID 7 EDX: MD_CLEAR, IBRS and IBPB, STIBP, L1D_FLUSH, ARCH_CAPABILITIES, SSBD */
#define MICROCODE_INTEL 0xbc000400u

enum { INTEL, AMD, HYGON, ZHAOXIN };
enum {
	SPECTRE_V2 = 1 << BUG_SPECTRE_V2,
	BHI = 1 << BUG_BHI,
	RETBLEED = 1 << BUG_RETBLEED,
	SRSO = 1 << BUG_SRSO,
	ITS = 1 << BUG_ITS,
	MDS = 1 << BUG_MDS,
	TAA = 1 << BUG_TAA,
	MMIO = 1 << BUG_MMIO,
	RFDS = 1 << BUG_RFDS,
	TSA = 1 << BUG_TSA,
	L1TF = 1 << BUG_L1TF,
	GDS = 1 << BUG_GDS,
	SRBDS = 1 << BUG_SRBDS,
	ITLB = 1 << BUG_ITLB,
	ZENBLEED = 1 << BUG_ZENBLEED,
	DIV0 = 1 << BUG_DIV0,
	SMT_RSB = 1 << BUG_SMT_RSB,
};

/* The bits of CPUID that matter. */
static const struct cpu {
	const char *name;
	unsigned vendor;
	u32 l1_eax;
	u32 l1_ecx;
	u32 l7_ebx;
	u32 l7_edx;
	u32 l7_2_edx;
	u32 lb_ebx;
	u32 l1a_eax;
	u32 e8_ebx;
	u32 e21_eax;
	u32 e21_ecx;
	u32 ea_edx;
	u64 caps;
	u32 microcode;
	u32 affected;
	u32 open;
	u64 flags;
	u32 spec_ctrl;
} cpus[] = {
	{ "Westmere-EP", INTEL, 0x206c2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x13,
	  SPECTRE_V2 | MDS | MMIO | L1TF | ITLB, MDS | MMIO | L1TF,
	  MIT_RSB | MIT_SPLIT | MIT_THUNKS, 0 },
	{ "Ivy Bridge", INTEL, 0x306a9, 0x50000000, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
	  SPECTRE_V2 | MDS | MMIO | L1TF | SRBDS | ITLB, MDS | MMIO | L1TF | SRBDS,
	  MIT_RSB | MIT_SPLIT | MIT_THUNKS, 0 },
	{ "Broadwell-E", INTEL, 0x406f1, 0x50000000, 0x40800, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0xb00000b,
	  SPECTRE_V2 | MDS | TAA | MMIO | L1TF | ITLB, MDS | TAA | MMIO | L1TF,
	  MIT_RSB | MIT_SPLIT | MIT_THUNKS, 0 },
	{ "Skylake-X", INTEL, 0x50654, 0x50000000, 0x40800, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
	  SPECTRE_V2 | RETBLEED | MDS | TAA | MMIO | L1TF | GDS | ITLB,
	  RETBLEED | MDS | TAA | MMIO | L1TF | GDS, MIT_RSB | MIT_SPLIT | MIT_THUNKS, 0 },
	/*
	 * The same by what Intel documents of newer microcode: RSBA, TSX_CTRL, FB_CLEAR, GDS_CTRL.
	 */
	{ "Skylake-X, updated", INTEL, 0x50654, 0x50000000, 0x40800, MICROCODE_INTEL, 0, 2, 0, 0, 0,
	  0, 0, 0x2020084, 0x2007006, SPECTRE_V2 | RETBLEED | MDS | TAA | MMIO | L1TF | GDS | ITLB,
	  0,
	  MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_RSB | MIT_SPLIT | MIT_L1D_FLUSH | MIT_MCU_OPT,
	  1 },
	/* Under a hypervisor that flushes: SKIP_L1DFL_VMENTRY. It may be on any CPU. */
	{ "Skylake-X, as a guest", INTEL, 0x50654, 0xd0000000, 0x40800, MICROCODE_INTEL, 0, 2, 0, 0,
	  0, 0, 0, 0x202008c, 0x2007006,
	  SPECTRE_V2 | RETBLEED | ITS | MDS | TAA | MMIO | GDS | ITLB, 0,
	  MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_RSB | MIT_SPLIT | MIT_VERW | MIT_MCU_OPT, 1 },
	{ "Cascade Lake", INTEL, 0x50657, 0x50000000, 0x40800, MICROCODE_INTEL, 0, 2, 0, 0, 0, 0, 0,
	  0x2b, 0x500001c, SPECTRE_V2 | BHI | RETBLEED | ITS | TAA | MMIO | GDS | ITLB,
	  TAA | MMIO | GDS, MIT_BHB | MIT_EIBRS | MIT_RSB | MIT_SPEC_CTRL | MIT_SPLIT | MIT_THUNKS,
	  1 },
	{ "Knights Landing", INTEL, 0x50671, 0x50000000, 0x40000, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
	  SPECTRE_V2 | MDS | MMIO, MDS | MMIO, MIT_RSB | MIT_THUNKS, 0 },
	{ "Goldmont Plus", INTEL, 0x706a8, 0x40000000, 0x40000, 0xac000400, 0, 1, 0, 0, 0, 0, 0,
	  0x6b, 0x16, SPECTRE_V2 | BHI | RFDS, RFDS, MIT_BHB | MIT_EIBRS | MIT_SPEC_CTRL, 1 },
	{ "Elkhart Lake", INTEL, 0x90661, 0x40000000, 0x40000, MICROCODE_INTEL, 0, 1, 0x20000000, 0,
	  0, 0, 0, 0x6b, 0x11, SPECTRE_V2 | BHI | MMIO | RFDS | SRBDS, MMIO | RFDS | SRBDS,
	  MIT_BHB | MIT_EIBRS | MIT_SPEC_CTRL, 1 },
	{ "Ice Lake-SP", INTEL, 0x606a6, 0x50000000, 0x40800, MICROCODE_INTEL, 0, 2, 0, 0, 0, 0, 0,
	  0x1eb, 0xd000280, SPECTRE_V2 | BHI | MMIO | GDS, MMIO | GDS,
	  MIT_BHB | MIT_EIBRS | MIT_RSB_ONE | MIT_SPEC_CTRL, 1 },
	/* FB_CLEAR, PBRSB_NO, GDS_CTRL: only devices need VERW. */
	{ "Ice Lake-SP, updated", INTEL, 0x606a6, 0x50000000, 0x40800, MICROCODE_INTEL, 0, 2, 0, 0,
	  0, 0, 0, 0x30201eb, 0xd0003a5, SPECTRE_V2 | BHI | MMIO | GDS, 0,
	  MIT_BHB | MIT_EIBRS | MIT_SPEC_CTRL | MIT_VERW_DEVICES | MIT_MCU_OPT, 1 },
	{ "Sapphire Rapids", INTEL, 0x806f8, 0x50000000, 0x40800, MICROCODE_INTEL, 0x17, 2, 0, 0, 0,
	  0, 0, 0x28fdeb, 0x2b000390, SPECTRE_V2 | BHI, 0,
	  MIT_BHI_DIS_S | MIT_EIBRS | MIT_RSB_ONE | MIT_SPEC_CTRL, 0x401 },
	{ "Alder Lake", INTEL, 0x90672, 0x50000000, 0x40000, MICROCODE_INTEL, 0, 2, 0x40000001, 0,
	  0, 0, 0, 0xd6b, 0x12, SPECTRE_V2 | BHI, 0,
	  MIT_BHB | MIT_EIBRS | MIT_RSB_ONE | MIT_SPEC_CTRL, 1 },
	/* Its other cores, which alone have RFDS, with RFDS_CLEAR. */
	{ "Gracemont", INTEL, 0x90672, 0x50000000, 0x40000, MICROCODE_INTEL, 0, 1, 0x20000001, 0, 0,
	  0, 0, 0x10000d6b, 0x12, SPECTRE_V2 | BHI | RFDS, 0,
	  MIT_BHB | MIT_EIBRS | MIT_RSB_ONE | MIT_SPEC_CTRL | MIT_VERW, 1 },
	{ "Granite Rapids", INTEL, 0xa06d1, 0x50000000, 0x40800, MICROCODE_INTEL, 0x3f, 2,
	  0x40000002, 0, 0, 0, 0, 0x2da9fdeb, 0x10001d0, SPECTRE_V2 | BHI, 0,
	  MIT_BHI_DIS_S | MIT_EIBRS | MIT_SPEC_CTRL, 0x401 },
	{ "Piledriver", AMD, 0x600f20, 0x10000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x600081f,
	  SPECTRE_V2 | RETBLEED, RETBLEED, MIT_LFENCE | MIT_RSB | MIT_THUNKS, 0 },
	{ "Zen", AMD, 0x800f12, 0x50000000, 0x40000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x8001207,
	  SPECTRE_V2 | RETBLEED | SRSO | DIV0 | SMT_RSB, RETBLEED | SRSO,
	  MIT_LFENCE | MIT_RSB | MIT_THUNKS | MIT_DIVIDER, 0 },
	{ "Rome", AMD, 0x830f10, 0x50000000, 0x40000, 0, 0, 2, 0, 0x4f000, 0, 0, 0x100000, 0,
	  0x830101c, SPECTRE_V2 | RETBLEED | SRSO | ZENBLEED | SMT_RSB, 0,
	  MIT_IBPB_EXIT | MIT_LFENCE | MIT_RSB | MIT_ZENBLEED, 2 },
	/* Without SVM's own switch of IA32_SPEC_CTRL; microcode that ends Zenbleed. */
	{ "Rome, updated", AMD, 0x830f10, 0x50000000, 0x40000, 0, 0, 2, 0, 0x4f000, 0, 0, 0, 0,
	  0x830107c, SPECTRE_V2 | RETBLEED | SRSO | SMT_RSB, 0,
	  MIT_IBPB_EXIT | MIT_LFENCE | MIT_RSB | MIT_SPEC_CTRL, 2 },
	{ "Milan", AMD, 0xa00f11, 0x50000000, 0x40000, 0, 0, 2, 0, 0x4f000, 4, 0, 0x100000, 0,
	  0xa001119, SPECTRE_V2 | SRSO | TSA, SRSO | TSA, MIT_IBPB_EXIT | MIT_RSB, 2 },
	{ "Genoa", AMD, 0xa10f11, 0x50000000, 0x40000, 0, 0, 2, 0, 0x6004f000, 0x104, 0, 0x100000,
	  0, 0xa101111, SPECTRE_V2 | SRSO | TSA, SRSO | TSA, MIT_AUTO_IBRS | MIT_IBPB_EXIT, 2 },
	/* IBPB_BRTYPE, and microcode that has VERW do something. */
	{ "Genoa, updated", AMD, 0xa10f11, 0x50000000, 0x40000, 0, 0, 2, 0, 0x6004f000, 0x10000104,
	  0, 0x100000, 0, 0xa10114c, SPECTRE_V2 | SRSO | TSA, 0,
	  MIT_AUTO_IBRS | MIT_IBPB_EXIT | MIT_VERW, 2 },
	{ "Turin", AMD, 0xb10f10, 0x50000000, 0x40000, 0, 0, 1, 0, 0x6004f000, 0xd0000104, 0,
	  0x100000, 0, 0xb101021, SPECTRE_V2 | SRSO, 0, MIT_AUTO_IBRS | MIT_BP_SPEC_REDUCE, 0 },
	{ "Dhyana", HYGON, 0x900f22, 0x50000000, 0x40000, 0, 0, 0, 0, 0x1000, 0, 0, 0, 0,
	  0x80901047, SPECTRE_V2 | RETBLEED | SRSO | DIV0 | SMT_RSB, 0,
	  MIT_IBPB_EXIT | MIT_LFENCE | MIT_RSB | MIT_DIVIDER, 0 },
	{ "KX-5000", ZHAOXIN, 0x107b0, 0x50000000, 0x40000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	  MDS | L1TF | ITLB, MDS | L1TF, MIT_SPLIT, 0 },
};

static const struct cpu *cpu;

static void read_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *r)
{
	static const struct cpuid_regs vendors[] = {
		{ 0x20, 0x756e6547, 0x6c65746e, 0x49656e69 },
		{ 0x20, 0x68747541, 0x444d4163, 0x69746e65 },
		{ 0x20, 0x6f677948, 0x656e6975, 0x6e65476e },
		{ 0x20, 0x68532020, 0x20206961, 0x68676e61 },
	};

	memset(r, 0, sizeof(*r));
	switch (leaf) {
	case 0: *r = vendors[cpu->vendor]; break;
	case 1:
		r->eax = cpu->l1_eax;
		r->ecx = cpu->l1_ecx;
		break;
	case 7:
		if (subleaf)
			r->edx = subleaf == 2 ? cpu->l7_2_edx : ~0u;
		else
			*r = (struct cpuid_regs){ .eax = cpu->l7_2_edx ? 2 : 1,
						  .ebx = cpu->l7_ebx,
						  .edx = cpu->l7_edx };
		break;
	case 0xb: r->ebx = cpu->lb_ebx; break;
	case 0x1a: r->eax = cpu->l1a_eax; break;
	case 0x80000000: r->eax = 0x80000021; break;
	case 0x80000008: r->ebx = cpu->e8_ebx; break;
	case 0x8000000a: r->edx = cpu->ea_edx; break;
	case 0x8000001e: r->ebx = 0x100; break;
	case 0x80000021:
		r->eax = cpu->e21_eax;
		r->ecx = cpu->e21_ecx;
		break;
	default: break;
	}
}

static struct mitigations decide(const struct cpu *of)
{
	struct mitigation_input in = { .read_cpuid = read_cpuid,
				       .arch_capabilities = of->caps,
				       .microcode = of->microcode };
	struct mitigations m;

	cpu = of;
	mitigations_decide(&in, &m);
	return m;
}

static void test_recorded(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++) {
		struct mitigations m = decide(&cpus[i]);

		if (m.affected != cpus[i].affected || m.open != cpus[i].open ||
		    m.flags != cpus[i].flags || m.spec_ctrl != cpus[i].spec_ctrl)
			fail_msg("%s: affected %x open %x flags %x spec_ctrl %x, is %x %x %llx %x",
				 cpus[i].name, m.affected, m.open, m.flags, m.spec_ctrl,
				 cpus[i].affected, cpus[i].open, (unsigned long long)cpus[i].flags,
				 cpus[i].spec_ctrl);
		assert_int_equal(m.done, MIT_DONE);
	}
}

static const struct cpu *find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++)
		if (!strcmp(cpus[i].name, name))
			return &cpus[i];
	fail_msg("%s", name);
	return NULL;
}

/* A later bit that says "not this" ends it; what is of no use without another bit is not done. */
static void test_immunity(void **)
{
	struct cpu c = *find("Cascade Lake");
	const struct {
		u64 caps;
		u32 not;
	} gone[] = {
		{ BIT(6), ITLB }, { BIT(8), TAA },  { BIT(13) | BIT(14) | BIT(15), MMIO },
		{ BIT(20), BHI }, { BIT(26), GDS }, { BIT(62), ITS },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(gone); i++) {
		c.caps = 0x2b | gone[i].caps;
		assert_int_equal(decide(&c).affected,
				 find("Cascade Lake")->affected & ~gone[i].not);
	}
	c.caps = 0x2b | BIT(13) | BIT(14);
	assert_true(decide(&c).affected & MMIO);
	c = *find("Gracemont");
	c.caps |= BIT(27); /* RFDS_NO goes before RFDS_CLEAR */
	assert_false(decide(&c).affected & RFDS);
	c = *find("Milan");
	c.e21_ecx = 2;
	assert_true(decide(&c).affected & TSA);
	c.e21_ecx = 6;
	c.e21_eax |= 1u << 29;
	assert_int_equal(decide(&c).affected, SPECTRE_V2);
	/* Then nothing is left of what IBPB is for. */
	assert_int_equal(decide(&c).flags, MIT_THUNKS | MIT_RSB);
	c = *find("Rome");
	c.e8_ebx |= 1u << 29; /* BTC_NO */
	assert_false(decide(&c).affected & RETBLEED);
	c = *find("Genoa, updated");
	c.microcode--;
	assert_int_equal(decide(&c).open, TSA);
	c.microcode = 0xa10124b; /* the other stepping's is another */
	assert_int_equal(decide(&c).open, TSA);
}

static const char *line(const struct mitigations *m, enum cpu_bug bug, bool off)
{
	static char text[128];
	bool vulnerable = mitigation_line(m, bug, off, text, sizeof(text));

	assert_int_equal(vulnerable, strstr(text, ": Vulnerable") != NULL);
	assert_true(strlen(text) < 96);
	return text;
}

static void test_lines(void **)
{
	struct mitigations m = decide(find("Skylake-X, updated"));

	assert_string_equal(line(&m, BUG_L1TF, false),
			    "l1tf: Mitigation: VMX: cache flushes; SMT vulnerable");
	assert_string_equal(line(&m, BUG_MDS, false),
			    "mds: Mitigation: Clear CPU buffers; SMT vulnerable");
	assert_string_equal(line(&m, BUG_GDS, false),
			    "gather_data_sampling: Mitigation: Microcode");
	assert_string_equal(line(&m, BUG_TSA, false), "tsa: Not affected");
	m.smt = false;
	assert_string_equal(line(&m, BUG_L1TF, false), "l1tf: Mitigation: VMX: cache flushes");
	assert_int_equal(mitigations_force(&m, 0, true), 0);
	assert_int_equal(m.flags | m.spec_ctrl, 0);
	assert_string_equal(line(&m, BUG_L1TF, true), "l1tf: Vulnerable: mitigate=off");
	m = decide(find("Skylake-X"));
	assert_string_equal(line(&m, BUG_L1TF, false), "l1tf: Vulnerable: no microcode");
	assert_string_equal(line(&m, BUG_RETBLEED, false), "retbleed: Vulnerable: no microcode");
	m = decide(find("Ice Lake-SP, updated"));
	assert_string_equal(line(&m, BUG_MMIO, false),
			    "mmio_stale_data: Mitigation: Clear CPU buffers; SMT vulnerable");
	m = decide(find("Turin"));
	assert_string_equal(line(&m, BUG_SPECTRE_V2, false),
			    "spectre_v2: Mitigation: Automatic IBRS");
	assert_string_equal(line(&m, BUG_SRSO, false),
			    "spec_rstack_overflow: Mitigation: Reduced Speculation");
	m = decide(find("Rome"));
	assert_string_equal(line(&m, BUG_ZENBLEED, false), "zenbleed: Mitigation: FP backup fix");
	m = decide(find("Dhyana"));
	assert_string_equal(line(&m, BUG_DIV0, false),
			    "div0: Mitigation: Division before VM entry; SMT vulnerable");
	/* One thread a core: what it leaves to the other is of no use to anybody. */
	m.smt = false;
	assert_string_equal(line(&m, BUG_DIV0, false),
			    "div0: Mitigation: Division before VM entry");
	/* Whatever is done, or was forced, each line is one or the other. */
	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++) {
		m = decide(&cpus[i]);
		for (unsigned bug = 0; bug < CPU_BUGS; bug++) {
			assert_int_equal(strstr(line(&m, bug, false), ": Not affected") != NULL,
					 !(m.affected >> bug & 1));
			if (m.open >> bug & 1)
				assert_non_null(
					strstr(line(&m, bug, false), ": Vulnerable: no microcode"));
		}
	}
	/* What an image with all of it says. */
	static const struct {
		const char *cpu;
		enum cpu_bug bug;
		const char *said;
	} all[] = {
		{ "Skylake-X, updated", BUG_SPECTRE_V2,
		  "spectre_v2: Mitigation: IBRS; RSB filling" },
		{ "Skylake-X, updated", BUG_RETBLEED, "retbleed: Mitigation: IBRS; RSB filling" },
		{ "Skylake-X, updated", BUG_MDS,
		  "mds: Mitigation: Clear CPU buffers; SMT vulnerable" },
		{ "Skylake-X, updated", BUG_TAA,
		  "tsx_async_abort: Mitigation: Clear CPU buffers; SMT vulnerable" },
		{ "Skylake-X, updated", BUG_MMIO,
		  "mmio_stale_data: Mitigation: Clear CPU buffers; SMT vulnerable" },
		{ "Skylake-X, updated", BUG_ITLB, "itlb_multihit: Mitigation: Split huge pages" },
		{ "Skylake-X, as a guest", BUG_MDS,
		  "mds: Mitigation: Clear CPU buffers; SMT vulnerable" },
		{ "Skylake-X, as a guest", BUG_TAA,
		  "tsx_async_abort: Mitigation: Clear CPU buffers; SMT vulnerable" },
		{ "Skylake-X, as a guest", BUG_MMIO,
		  "mmio_stale_data: Mitigation: Clear CPU buffers; SMT vulnerable" },
		{ "Cascade Lake", BUG_SPECTRE_V2, "spectre_v2: Mitigation: Enhanced IBRS" },
		{ "Cascade Lake", BUG_RETBLEED, "retbleed: Mitigation: Enhanced IBRS" },
		{ "Cascade Lake", BUG_ITS,
		  "indirect_target_selection: Mitigation: Retpolines; RSB filling" },
		{ "Cascade Lake", BUG_BHI, "bhi: Mitigation: SW loop" },
		{ "Broadwell-E", BUG_SPECTRE_V2,
		  "spectre_v2: Mitigation: Retpolines; RSB filling" },
		{ "Sapphire Rapids", BUG_BHI, "bhi: Mitigation: BHI_DIS_S" },
		{ "Gracemont", BUG_RFDS,
		  "reg_file_data_sampling: Mitigation: Clear Register File" },
		{ "Rome", BUG_SPECTRE_V2, "spectre_v2: Mitigation: IBPB on VMEXIT" },
		{ "Rome", BUG_RETBLEED, "retbleed: Mitigation: IBPB on VMEXIT" },
		{ "Rome", BUG_SRSO, "spec_rstack_overflow: Mitigation: IBPB on VMEXIT" },
		{ "Rome", BUG_SMT_RSB,
		  "smt_rsb: Mitigation: RSB filling; interrupts = direct vulnerable" },
		{ "Zen", BUG_DIV0, "div0: Mitigation: Division before VM entry; SMT vulnerable" },
		{ "Genoa, updated", BUG_SPECTRE_V2, "spectre_v2: Mitigation: Automatic IBRS" },
		{ "Genoa, updated", BUG_TSA, "tsa: Mitigation: Clear CPU buffers; SMT vulnerable" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		m = decide(find(all[i].cpu));
		m.done = ~0u;
		assert_string_equal(line(&m, all[i].bug, false), all[i].said);
		/* Each of its parts counts. */
		for (unsigned bit = 0; bit < 32; bit++) {
			m.flags = decide(find(all[i].cpu)).flags & ~(1u << bit);
			m.done = ~0u;
			if (strcmp(line(&m, all[i].bug, false), all[i].said)) {
				m.flags |= 1u << bit;
				m.done = ~(1u << bit);
				assert_non_null(
					strstr(line(&m, all[i].bug, false),
					       ": Vulnerable: not mitigated by this version"));
			}
		}
	}
	m = decide(find("Sapphire Rapids"));
	m.done = ~0u;
	m.flags &= ~(u32)MIT_SPEC_CTRL;
	assert_non_null(strstr(line(&m, BUG_BHI, false), "Vulnerable"));
	assert_non_null(strstr(line(&m, BUG_SPECTRE_V2, false), "Vulnerable"));
	m = decide(find("Cascade Lake"));
	m.done = ~0u;
	m.flags &= ~(u32)MIT_RSB;
	assert_non_null(strstr(line(&m, BUG_ITS, false), "Vulnerable"));
	m.flags = MIT_RSB;
	assert_non_null(strstr(line(&m, BUG_ITS, false), "Vulnerable"));
	m = decide(find("Skylake-X, updated"));
	m.done = ~0u;
	for (unsigned i = 0; i < 3; i++) {
		const u32 parts[] = { MIT_SPEC_CTRL, MIT_SPEC_CTRL_ALWAYS, MIT_RSB };

		m.flags = (MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_RSB) & ~parts[i];
		assert_non_null(strstr(line(&m, BUG_RETBLEED, false), "Vulnerable"));
	}
	m.flags = MIT_EIBRS;
	assert_non_null(strstr(line(&m, BUG_SPECTRE_V2, false), "Vulnerable"));
	/* What the image does not do is not told as done. */
	m = decide(find("Sapphire Rapids"));
	assert_string_equal(line(&m, BUG_BHI, false), "bhi: Mitigation: BHI_DIS_S");
	m = decide(find("Westmere-EP"));
	assert_string_equal(line(&m, BUG_SPECTRE_V2, false),
			    "spectre_v2: Mitigation: Retpolines; RSB filling");
	assert_string_equal(line(&m, BUG_ITLB, false),
			    "itlb_multihit: Mitigation: Split huge pages");
}

static void test_words(void **)
{
	const u32 always =
		MIT_RSB_ONE | MIT_RSB | MIT_BHB | MIT_THUNKS | MIT_DIVIDER | MIT_VERW | MIT_SPLIT;
	const u32 registers = MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_IBPB_EXIT;
	u32 forced = 1;
	bool off = true;
	struct mitigations m;

	assert_true(mitigations_parse(span_of("auto"), &forced, &off));
	assert_int_equal(forced, 0);
	assert_false(off);
	assert_true(mitigations_parse(span_of("off"), &forced, &off));
	assert_true(off);
	assert_true(mitigations_parse(span_of("verw,l1d_flush,spec_ctrl"), &forced, &off));
	assert_int_equal(forced, MIT_VERW | MIT_L1D_FLUSH | MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS);
	assert_false(off);
	assert_false(mitigations_parse(span_of(""), &forced, &off));
	assert_false(mitigations_parse(span_of("verw,"), &forced, &off));
	assert_false(mitigations_parse(span_of("off,verw"), &forced, &off));
	assert_false(mitigations_parse(span_of("verw,ver"), &forced, &off));
	assert_int_equal(forced, MIT_VERW | MIT_L1D_FLUSH | MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS);
	/* Haswell without microcode has none of the registers. */
	m = decide(find("Broadwell-E"));
	forced = MIT_VERW | MIT_L1D_FLUSH | MIT_SPEC_CTRL | MIT_IBPB_EXIT | MIT_BHB;
	assert_int_equal(mitigations_force(&m, forced, false),
			 MIT_L1D_FLUSH | MIT_SPEC_CTRL | MIT_IBPB_EXIT);
	assert_int_equal(m.flags, MIT_VERW | MIT_BHB | MIT_RSB | MIT_SPLIT | MIT_THUNKS);
	assert_string_equal(mitigation_name(MIT_L1D_FLUSH), "l1d_flush");
	m = decide(find("Turin"));
	assert_int_equal(mitigations_force(&m, MIT_L1D_FLUSH | MIT_IBPB_EXIT | MIT_SPEC_CTRL,
					   false),
			 MIT_L1D_FLUSH);
	m = decide(find("Skylake-X, updated"));
	assert_int_equal(mitigations_force(&m, ~0u, false),
			 ~(u32)(registers | MIT_L1D_FLUSH | always));
	for (unsigned bit = 14; bit < 17; bit++) {
		struct cpu c = *find("Milan");

		c.e8_ebx = 1u << bit; /* IBRS, STIBP, and something else */
		m = decide(&c);
		assert_int_equal(m.can,
				 bit < 16 ? always | MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS : always);
		c.e8_ebx |= 1u << 12;
		m = decide(&c);
		assert_int_equal(m.can, bit < 16 ? always | registers : always | MIT_IBPB_EXIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_immunity),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
