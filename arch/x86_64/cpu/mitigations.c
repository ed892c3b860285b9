/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables and rules of mitigations.h. */
#include "arch/x86_64/cpu/mitigations.h"

#include "arch/x86_64/cpu/features.h"

/* IA32_ARCH_CAPABILITIES */
#define RDCL_NO BIT(0)
#define IBRS_ALL BIT(1)
#define RSBA BIT(2)
#define SKIP_L1DFL_VMENTRY BIT(3)
#define MDS_NO BIT(5)
#define PSCHANGE_MC_NO BIT(6)
#define TSX_CTRL BIT(7)
#define TAA_NO BIT(8)
#define MMIO_NO (BIT(13) | BIT(14) | BIT(15)) /* SBDR_SSDP_NO, FBSDP_NO, PSDP_NO */
#define FB_CLEAR BIT(17)
#define BHI_NO BIT(20)
#define PBRSB_NO BIT(24)
#define GDS_CTRL BIT(25)
#define GDS_NO BIT(26)
#define RFDS_NO BIT(27)
#define RFDS_CLEAR BIT(28)
#define ITS_NO BIT(62)

#define SPEC_CTRL_IBRS BIT(0)
#define SPEC_CTRL_STIBP BIT(1)
#define SPEC_CTRL_BHI_DIS_S BIT(10)

/* What a model is listed for: bugs that it has, or that it has not; beside enum cpu_bug: */
/* the entry below the return stack's top is used after an exit, in spite of IBRS_ALL */
#define PBRSB CPU_BUGS
#define ATOM_ONLY 31      /* of a hybrid CPU: only its small cores are */
#define B(bug) BIT(BUG_##bug)
#define ANY_STEPPING 15

#define SKYLAKE (B(MMIO) | B(RETBLEED) | B(GDS))
#define COMET_LAKE (SKYLAKE | B(SRBDS) | B(ITS))
#define SILVERMONT (B(L1TF) | B(ITLB))
#define GOLDMONT (SILVERMONT | B(MDS) | B(MMIO))
#define ZEN (B(RETBLEED) | B(SRSO) | B(SMT_RSB))
#define AMD_NOT (B(MDS) | B(L1TF) | B(ITLB) | B(MMIO) | BIT(PBRSB))

/*
 * The first row that fits counts. What is in no row has what every CPU of its vendor has. ITS is
 * listed where it reaches from a guest into the host.
 */
static const struct row {
	/* models; the highest stepping */
	u8 vendor;
	u8 family;
	u8 first;
	u8 last;
	u8 stepping;

	u32 has;
	u32 has_not;
} rows[] = {
	/* Bonnell and Saltwell do not speculate */
	{ CPU_INTEL, 6, 0x1c, 0x1c, ANY_STEPPING, 0, ~0u },
	{ CPU_INTEL, 6, 0x26, 0x27, ANY_STEPPING, 0, ~0u },
	{ CPU_INTEL, 6, 0x35, 0x36, ANY_STEPPING, 0, ~0u },
	{ CPU_INTEL, 6, 0x37, 0x37, ANY_STEPPING, 0, SILVERMONT },      /* Silvermont, Airmont */
	{ CPU_INTEL, 6, 0x3a, 0x3a, ANY_STEPPING, B(SRBDS), 0 },        /* Ivy Bridge */
	{ CPU_INTEL, 6, 0x3c, 0x3d, ANY_STEPPING, B(SRBDS), 0 },        /* Haswell, Broadwell */
	{ CPU_INTEL, 6, 0x3f, 0x3f, ANY_STEPPING, B(MMIO), 0 },
	{ CPU_INTEL, 6, 0x45, 0x47, ANY_STEPPING, B(SRBDS), 0 },
	{ CPU_INTEL, 6, 0x4a, 0x4a, ANY_STEPPING, 0, SILVERMONT },
	{ CPU_INTEL, 6, 0x4c, 0x4d, ANY_STEPPING, 0, SILVERMONT },
	{ CPU_INTEL, 6, 0x4e, 0x4e, ANY_STEPPING, SKYLAKE | B(SRBDS), 0 },
	{ CPU_INTEL, 6, 0x4f, 0x4f, ANY_STEPPING, B(MMIO), 0 },         /* Broadwell servers */
	{ CPU_INTEL, 6, 0x55, 0x55, 5, SKYLAKE, 0 },                    /* Skylake servers */
	/* Cascade Lake, Cooper Lake */
	{ CPU_INTEL, 6, 0x55, 0x55, ANY_STEPPING, SKYLAKE | B(ITS), 0 },
	{ CPU_INTEL, 6, 0x56, 0x56, ANY_STEPPING, B(MMIO), 0 },
	{ CPU_INTEL, 6, 0x57, 0x57, ANY_STEPPING, 0, SILVERMONT },      /* Xeon Phi */
	{ CPU_INTEL, 6, 0x5a, 0x5a, ANY_STEPPING, 0, SILVERMONT },
	{ CPU_INTEL, 6, 0x5c, 0x5c, ANY_STEPPING, B(RFDS), GOLDMONT },
	{ CPU_INTEL, 6, 0x5e, 0x5e, ANY_STEPPING, SKYLAKE | B(SRBDS), 0 },
	{ CPU_INTEL, 6, 0x5f, 0x5f, ANY_STEPPING, B(RFDS), GOLDMONT },
	{ CPU_INTEL, 6, 0x66, 0x66, ANY_STEPPING, B(RETBLEED), 0 },     /* Cannon Lake */
	{ CPU_INTEL, 6, 0x6a, 0x6a, ANY_STEPPING, B(MMIO) | B(GDS), 0 }, /* Ice Lake servers */
	{ CPU_INTEL, 6, 0x6c, 0x6c, ANY_STEPPING, B(MMIO) | B(GDS), 0 },
	{ CPU_INTEL, 6, 0x75, 0x75, ANY_STEPPING, 0, SILVERMONT },
	{ CPU_INTEL, 6, 0x7a, 0x7a, ANY_STEPPING, B(RFDS), GOLDMONT | BIT(PBRSB) },
	{ CPU_INTEL, 6, 0x7e, 0x7e, ANY_STEPPING, SKYLAKE | B(SRBDS), 0 }, /* Ice Lake */
	{ CPU_INTEL, 6, 0x85, 0x85, ANY_STEPPING, 0, SILVERMONT },
	/* Tremont */
	{ CPU_INTEL, 6, 0x86, 0x86, ANY_STEPPING, B(MMIO) | B(RFDS), B(ITLB) | BIT(PBRSB) },
	/* Lakefield */
	{ CPU_INTEL, 6, 0x8a, 0x8a, ANY_STEPPING, B(MMIO) | B(RETBLEED) | B(SRBDS), 0 },
	{ CPU_INTEL, 6, 0x8c, 0x8d, ANY_STEPPING, B(GDS), B(MMIO) },    /* Tiger Lake */
	/* Kaby Lake and its successors */
	{ CPU_INTEL, 6, 0x8e, 0x8e, 11, SKYLAKE | B(SRBDS), 0 },
	{ CPU_INTEL, 6, 0x8e, 0x8e, ANY_STEPPING, COMET_LAKE, 0 },
	{ CPU_INTEL, 6, 0x96, 0x96, ANY_STEPPING, B(MMIO) | B(RFDS) | B(SRBDS), BIT(PBRSB) },
	/* Alder Lake */
	{ CPU_INTEL, 6, 0x97, 0x97, ANY_STEPPING, B(RFDS) | BIT(ATOM_ONLY), B(MMIO) },
	{ CPU_INTEL, 6, 0x9a, 0x9a, ANY_STEPPING, B(RFDS), B(MMIO) },
	{ CPU_INTEL, 6, 0x9c, 0x9c, ANY_STEPPING, B(MMIO) | B(RFDS) | B(SRBDS), BIT(PBRSB) },
	{ CPU_INTEL, 6, 0x9e, 0x9e, 12, SKYLAKE | B(SRBDS), 0 },
	{ CPU_INTEL, 6, 0x9e, 0x9e, ANY_STEPPING, COMET_LAKE, 0 },
	{ CPU_INTEL, 6, 0xa5, 0xa5, ANY_STEPPING, COMET_LAKE, 0 },
	{ CPU_INTEL, 6, 0xa6, 0xa6, 0, B(MMIO) | B(RETBLEED) | B(ITS), 0 },
	{ CPU_INTEL, 6, 0xa6, 0xa6, ANY_STEPPING, COMET_LAKE, 0 },
	{ CPU_INTEL, 6, 0xa7, 0xa7, ANY_STEPPING, SKYLAKE, 0 },         /* Rocket Lake */
	{ CPU_INTEL, 6, 0xb7, 0xb7, ANY_STEPPING, B(RFDS) | BIT(ATOM_ONLY), 0 }, /* Raptor Lake */
	{ CPU_INTEL, 6, 0xba, 0xba, ANY_STEPPING, B(RFDS), 0 },
	{ CPU_INTEL, 6, 0xbe, 0xbf, ANY_STEPPING, B(RFDS), 0 },
	{ CPU_AMD, 0x15, 0, 0xff, ANY_STEPPING, B(RETBLEED), AMD_NOT },
	{ CPU_AMD, 0x16, 0, 0xff, ANY_STEPPING, B(RETBLEED), AMD_NOT },
	{ CPU_AMD, 0x17, 0x30, 0x4f, ANY_STEPPING, ZEN | B(ZENBLEED), AMD_NOT }, /* Zen 2 */
	{ CPU_AMD, 0x17, 0x60, 0x7f, ANY_STEPPING, ZEN | B(ZENBLEED), AMD_NOT },
	{ CPU_AMD, 0x17, 0x90, 0x91, ANY_STEPPING, ZEN | B(ZENBLEED), AMD_NOT },
	{ CPU_AMD, 0x17, 0xa0, 0xaf, ANY_STEPPING, ZEN | B(ZENBLEED), AMD_NOT },
	{ CPU_AMD, 0x17, 0, 0x2f, ANY_STEPPING, ZEN | B(DIV0), AMD_NOT }, /* Zen */
	{ CPU_AMD, 0x17, 0x50, 0x5f, ANY_STEPPING, ZEN | B(DIV0), AMD_NOT },
	{ CPU_AMD, 0x17, 0, 0xff, ANY_STEPPING, ZEN, AMD_NOT },
	/* Hygon's, which are Zen */
	{ CPU_AMD, 0x18, 0, 0xff, ANY_STEPPING, ZEN | B(DIV0), AMD_NOT },
	{ CPU_AMD, 0x19, 0, 0xff, ANY_STEPPING, B(SRSO) | B(TSA), AMD_NOT },
	{ CPU_AMD, 0x1a, 0, 0xff, ANY_STEPPING, B(SRSO), AMD_NOT },
	{ CPU_OTHER, 7, 0, 0xff, ANY_STEPPING, 0, B(SPECTRE_V2) | B(MMIO) }, /* Zhaoxin */
};

/*
 * AMD's microcode that ends Zenbleed, or gives VERW its use against TSA, by model: all but its last
 * byte says of which CPU it is, and it or a newer one will do.
 */
static const u32 good_microcode[] = {
	0x0830107b, 0x0860010c, 0x08608107, 0x08701033, 0x08a00009, 0x0a0011d7, 0x0a00123b,
	0x0a00820d, 0x0a10114c, 0x0a10124c, 0x0a108109, 0x0a20102e, 0x0a201211, 0x0a404108,
	0x0a500012, 0x0a60120a, 0x0a704108, 0x0a705208, 0x0a708008, 0x0a70c008, 0x0aa00216,
};

/* What a CPU says of itself, as far as it matters here. */
struct facts {
	enum cpu_vendor vendor;
	u32 family;
	struct cpuid_regs l1;
	struct cpuid_regs l7;
	struct cpuid_regs l7_2;
	struct cpuid_regs e8;
	struct cpuid_regs e21;
	/* VMRUN and #VMEXIT switch IA32_SPEC_CTRL, with the host's bits on in the guest, too */
	bool virt_spec_ctrl;
	bool atom;           /* a hybrid CPU's small core */
	u64 caps;
};

static void read_facts(const struct mitigation_input *in, struct facts *f, struct mitigations *m)
{
	struct cpuid_regs l0, e0, r = { 0 };

	*f = (struct facts){ .caps = in->arch_capabilities };
	in->read_cpuid(0, 0, &l0);
	in->read_cpuid(0x80000000, 0, &e0);
	f->vendor = cpu_vendor(&l0);
	in->read_cpuid(1, 0, &f->l1);
	f->family = cpu_family(f->l1.eax);
	if (l0.eax >= 7)
		in->read_cpuid(7, 0, &f->l7);
	if (f->l7.eax >= 2)
		in->read_cpuid(7, 2, &f->l7_2);
	if (l0.eax >= 0x1a) {
		in->read_cpuid(0x1a, 0, &r);
		f->atom = r.eax >> 24 == 0x20;
		r.ebx = 0;
	}
	if (l0.eax >= 0xb)
		in->read_cpuid(0xb, 0, &r); /* logical CPUs of a core */
	if (e0.eax >= 0x80000008)
		in->read_cpuid(0x80000008, 0, &f->e8);
	m->smt = (r.ebx & 0xffff) > 1;
	if (f->vendor != CPU_AMD || e0.eax > 0x8000ffff)
		return;
	if (!r.ebx && e0.eax >= 0x8000001e) {
		in->read_cpuid(0x8000001e, 0, &r);
		m->smt = r.ebx >> 8 & 0xff;
	}
	if (e0.eax >= 0x8000000a) {
		in->read_cpuid(0x8000000a, 0, &r);
		f->virt_spec_ctrl = r.edx & BIT(20);
	}
	if (e0.eax >= 0x80000021)
		in->read_cpuid(0x80000021, 0, &f->e21);
}

static const struct row *find_row(const struct facts *f)
{
	static const struct row intel = { .has = 0 }, amd = { .has_not = AMD_NOT };
	u32 model = cpu_model(f->l1.eax);

	for (const struct row *r = rows; r < rows + ARRAY_SIZE(rows); r++)
		if (r->vendor == f->vendor && r->family == f->family && model >= r->first &&
		    model <= r->last && (f->l1.eax & 0xf) <= r->stepping)
			return r;
	return f->vendor == CPU_AMD ? &amd : &intel;
}

/* Is the microcode one of good_microcode, or newer? */
static bool good(u32 microcode)
{
	for (unsigned i = 0; i < ARRAY_SIZE(good_microcode); i++)
		if (microcode >> 8 == good_microcode[i] >> 8)
			return microcode >= good_microcode[i];
	return false;
}

/* BIT(enum cpu_bug), and PBRSB. */
static u32 affected(const struct mitigation_input *in, const struct facts *f, bool smt)
{
	const struct row *row = find_row(f);
	bool guest = f->l1.ecx & BIT(31), intel = f->vendor == CPU_INTEL;
	u32 has = row->has | B(SPECTRE_V2) | B(MDS) | B(L1TF) | B(ITLB) | B(MMIO) | B(TAA) |
		  B(BHI) | BIT(PBRSB);
	const struct {
		u32 bugs;
		bool not;
	} rules[] = {
		{ B(RFDS), row->has & BIT(ATOM_ONLY) && !f->atom },
		{ B(MDS), f->caps & MDS_NO },
		{ B(L1TF), f->caps & (RDCL_NO | SKIP_L1DFL_VMENTRY) },
		{ B(ITLB), f->caps & PSCHANGE_MC_NO },
		{ B(MMIO), (f->caps & MMIO_NO) == MMIO_NO },
		/* RTM */
		{ B(TAA), f->caps & TAA_NO || !(f->l7.ebx & BIT(11) || f->caps & TSX_CTRL) },
		{ B(BHI), !intel || f->caps & BHI_NO || !(f->caps & IBRS_ALL) },
		{ BIT(PBRSB), f->caps & PBRSB_NO || !(f->caps & IBRS_ALL) },
		/* AVX */
		{ B(GDS), f->caps & GDS_NO || !(f->l1.ecx & BIT(28)) },
		/* RDRAND, RDSEED */
		{ B(SRBDS), !(f->l1.ecx & BIT(30) || f->l7.ebx & BIT(18)) },
		/* SRSO_NO */
		{ B(SRSO), f->e21.eax & BIT(29) },
		/* TSA_SQ_NO, TSA_L1_NO */
		{ B(TSA), (f->e21.ecx & (BIT(1) | BIT(2))) == (BIT(1) | BIT(2)) },
		{ B(SMT_RSB), !smt },
		{ B(ZENBLEED), guest || !(f->l1.ecx & BIT(28)) || good(in->microcode) },
	};

	if (guest && intel)
		has |= B(ITS); /* who runs us may be on any CPU */
	if (f->caps & RSBA)
		has |= B(RETBLEED);
	if (f->e8.ebx & BIT(29)) /* BTC_NO */
		has &= ~B(RETBLEED);
	if (f->caps & ITS_NO || f->l7_2.edx & BIT(4)) /* no CPU with BHI_CTRL has it */
		has &= ~B(ITS);
	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].not)
			has &= ~rules[i].bugs;
	if (f->caps & RFDS_CLEAR)
		has |= B(RFDS);
	if (f->caps & RFDS_NO)
		has &= ~B(RFDS);
	return has & (~row->has_not | row->has);
}

/* Predicted branches after an exit on Intel, and on CPUs like theirs. */
static void decide_intel(const struct facts *f, u32 has, struct mitigations *m)
{
	bool ibrs = f->l7.edx & BIT(26);

	if (f->caps & IBRS_ALL) {
		m->flags |= MIT_SPEC_CTRL | MIT_EIBRS;
		m->spec_ctrl = SPEC_CTRL_IBRS;
		if (has & B(BHI) && f->l7_2.edx & BIT(4)) { /* BHI_CTRL */
			m->flags |= MIT_BHI_DIS_S;
			m->spec_ctrl |= SPEC_CTRL_BHI_DIS_S;
		} else if (has & B(BHI)) {
			m->flags |= MIT_BHB;
		}
		/* A RET falls for it only where the return stack is empty. */
		if (has & B(ITS))
			m->flags |= MIT_THUNKS | MIT_RSB;
		else if (has & BIT(PBRSB))
			m->flags |= MIT_RSB_ONE;
	} else if (ibrs) {
		/* It also holds for a RET with an empty return stack. */
		m->flags |= MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_RSB;
		m->spec_ctrl = SPEC_CTRL_IBRS;
	} else {
		m->flags |= MIT_THUNKS | MIT_RSB;
		m->open |= B(RETBLEED);
	}
	m->can |= ibrs ? MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_IBPB_EXIT : 0;
}

/*
 * The same on AMD. Any RET may go by a prediction of the guest's (retbleed, SRSO), so the return
 * stack does not help where these are: all predictions go at each exit. Where they are not,
 * Automatic IBRS also clears the return stack (APM vol. 2, 3.1.7).
 */
static void decide_amd(const struct facts *f, u32 has, struct mitigations *m)
{
	bool ibpb = f->e8.ebx & BIT(12), auto_ibrs = f->e21.eax & BIT(8),
	     reduce = has & B(SRSO) && f->e21.eax & BIT(31);
	u32 returns = has & (reduce ? B(RETBLEED) : B(RETBLEED) | B(SRSO));

	m->flags |= (auto_ibrs ? MIT_AUTO_IBRS : 0) | (reduce ? MIT_BP_SPEC_REDUCE : 0);
	if (returns && ibpb)
		/* IBPB_RET: it clears the return stack, too */
		m->flags |= MIT_IBPB_EXIT | (f->e8.ebx & BIT(30) ? 0 : MIT_RSB);
	else if (!auto_ibrs)
		m->flags |= MIT_THUNKS | MIT_RSB;
	/*
	 * What a thread that sleeps leaves in its return stack is the other one's: nothing of a
	 * guest's.
	 */
	m->flags |= (has & B(SMT_RSB) ? MIT_RSB : 0) | (has & B(DIV0) ? MIT_DIVIDER : 0);
	if (!ibpb)
		m->open |= returns;
	/* Zen 3 and later: IBPB clears all of it with newer microcode, which says IBPB_BRTYPE. */
	if (f->family >= 0x19 && !(f->e21.eax & BIT(28)))
		m->open |= returns & B(SRSO);
	/* Intel's IBRS keeps out what the other thread of the core trains; here STIBP does. */
	if (m->smt && f->e8.ebx & BIT(15)) {
		m->spec_ctrl = SPEC_CTRL_STIBP;
		m->flags |= f->virt_spec_ctrl ? 0 : MIT_SPEC_CTRL;
	}
	/* Always serializing, or by the MSR, which these have. */
	if (!(f->e21.eax & BIT(2)) && f->family >= 0x10 && f->family != 0x11)
		m->flags |= MIT_LFENCE;
	m->can |= ibpb ? MIT_IBPB_EXIT : 0;
	m->can |= f->e8.ebx & (BIT(14) | BIT(15)) ? MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS : 0;
}

/* What stays in buffers and caches. */
static void decide_data(const struct mitigation_input *in, const struct facts *f, u32 has,
			struct mitigations *m)
{
	bool md_clear = f->l7.edx & BIT(10), l1d_flush = f->l7.edx & BIT(28);
	const struct {
		u32 bug;
		u32 flags;
		bool can;
	} rules[] = {
		{ B(MDS), MIT_VERW, md_clear },
		{ B(TAA), MIT_VERW, md_clear && (!(f->caps & MDS_NO) || f->caps & TSX_CTRL) },
		{ B(MMIO), MIT_VERW_DEVICES,
		  f->caps & FB_CLEAR || (md_clear && l1d_flush && !(f->caps & MDS_NO)) },
		{ B(RFDS), MIT_VERW, f->caps & RFDS_CLEAR },
		{ B(TSA), MIT_VERW, f->e21.eax & BIT(5) || good(in->microcode) }, /* VERW_CLEAR */
		{ B(L1TF), MIT_L1D_FLUSH, l1d_flush },
		{ B(GDS), MIT_MCU_OPT, f->caps & GDS_CTRL },
		{ B(SRBDS), MIT_MCU_OPT, f->l7.edx & BIT(9) }, /* SRBDS_CTRL */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
		if (has & rules[i].bug && rules[i].can)
			m->flags |= rules[i].flags;
		else
			m->open |= has & rules[i].bug;
	}
	if (m->flags & MIT_VERW)
		m->flags &= ~MIT_VERW_DEVICES;
	/* With microcode that has VERW clear buffers the flush does so, too. */
	if (m->flags & MIT_L1D_FLUSH)
		m->flags &= ~(MIT_VERW | MIT_VERW_DEVICES);
	m->flags |= (has & B(ITLB) ? MIT_SPLIT : 0) | (has & B(ZENBLEED) ? MIT_ZENBLEED : 0);
	m->can |= l1d_flush ? MIT_L1D_FLUSH : 0;
}

void mitigations_decide(const struct mitigation_input *in, struct mitigations *out)
{
	struct facts f;
	u32 has;

	*out = (struct mitigations){ .can = MIT_RSB_ONE | MIT_RSB | MIT_BHB | MIT_THUNKS |
					    MIT_DIVIDER | MIT_VERW | MIT_SPLIT };
	read_facts(in, &f, out);
	has = affected(in, &f, out->smt);
	out->done = MIT_DONE;
	out->affected = has & (BIT(CPU_BUGS) - 1);
	if (f.vendor == CPU_AMD)
		decide_amd(&f, has, out);
	else if (has & B(SPECTRE_V2))
		decide_intel(&f, has, out);
	out->open &= out->affected;
	decide_data(in, &f, has, out);
}
