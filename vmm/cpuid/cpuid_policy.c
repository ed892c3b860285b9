/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: builds a VM's CPUID table from the host's leaves and the rows
 * of vmm/cpuid/cpuid_table*.c (SDM vol. 2, CPUID; APM vol. 3, appendix E). The
 * topology is the host's, or flat (vmm/cpuid/cpuid_topology.c).
 */
#include "vmm/cpuid/cpuid_policy.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/cpuid/counters.h"
#include "vmm/cpuid/cpuid_table.h"
#include "vmm/hvm_ops.h"
#include "vmm/guest_platform.h"

#define LEAF_MAX 0x24u
#define LEAF_EXT_MAX 0x80000021u
#define LEAF_HYPERVISOR 0x40000000u
#define LEAF_HYPERVISOR_TIMING 0x40000010u
#define LEAF_KVM 0x40000100u

/* What the monitor switches, resets and lets XSETBV set. */
#define XCR0_KNOWN \
	(XCR0_X87 | XCR0_SSE | XCR0_AVX | XCR0_OPMASK | XCR0_ZMM_HI256 | XCR0_HI16_ZMM | \
	 XCR0_PKRU | XCR0_TILECFG | XCR0_TILEDATA)

/* KVM's feature leaf (Linux, Documentation/virt/kvm/x86/cpuid.rst). */
#define KVM_FEATURE_CLOCKSOURCE2 BIT(3)
#define KVM_FEATURE_POLL_CONTROL (IS_ENABLED(CONFIG_VM_PVCLOCK) ? BIT(12) : 0)
#define KVM_FEATURE_MSI_EXT_DEST_ID BIT(15)
#define KVM_FEATURE_CLOCKSOURCE_STABLE BIT(24)
#define KVM_HINTS_REALTIME BIT(0)

/* Subleaves that are taken over, however many the host has. */
#define PALETTES_MAX 4u

struct build {
	const struct cpuid_input *in;
	struct cpuid_table *t;
	u32 host_max;
	u32 host_max_ext;
	bool intel;
	bool amd;
	bool full;
};

static struct cpuid_regs host(const struct build *b, u32 leaf, u32 subleaf)
{
	u32 max = leaf < LEAF_EXT ? b->host_max : b->host_max_ext;
	struct cpuid_regs r = { 0 };

	if (leaf <= max)
		b->in->host(b->in->ctx, leaf, subleaf, &r);
	return r;
}

static void add_leaf(struct build *b, u32 leaf, u32 subleaf, bool has_subleaf, struct cpuid_regs r)
{
	if (b->t->count == CPUID_MAX) {
		b->full = true;
		return;
	}
	if (cpuid_is_flat(b->t))
		cpuid_flatten(&r, leaf, subleaf, b->t->flat_vcpus, 0);
	b->t->entry[b->t->count++] = (struct cpuid_entry){
		.leaf = leaf,
		.subleaf = subleaf,
		.has_subleaf = has_subleaf,
		.plain = !has_subleaf && !cpuid_leaf_dynamic(leaf),
		.regs = r,
	};
}

/* A leaf with all its subleaves, as the CPU tells them that runs the vCPU. */
static void leaf_own(struct build *b, u32 leaf)
{
	add_leaf(b, leaf, 0, false, (struct cpuid_regs){ 0 });
	b->t->entry[b->t->count - 1].own = true;
	b->t->entry[b->t->count - 1].plain = false;
}

static bool need_met(const struct build *b, u8 need)
{
	const struct hvm_caps *caps = b->in->caps;
	const bool met[] = {
		[NEED_NOTHING] = true,
		[NEED_RDTSCP] = caps->rdtscp,
		[NEED_INVPCID] = caps->invpcid,
		[NEED_PCID] = caps->pcid,
		[NEED_XSAVES] = caps->xsaves,
		[NEED_WAITPKG] = caps->waitpkg,
		[NEED_ARCH_CAPABILITIES] = b->in->arch_capabilities_ok,
		[NEED_STABLE_TSC] = b->in->tsc_stable && !b->in->tsc_freezes,
		[NEED_AMD] = b->amd,
		[NEED_MACHINE_CHECKS] = b->in->machine_checks,
		[NEED_COUNTERS] = b->in->counters,
		[NEED_MWAIT] = b->in->mwait,
		[NEED_VIRTUAL_TIMER] = !b->in->direct,
	};

	return met[need];
}

/* By enum cpuid_xstate. */
static const u32 xstate_needed[] = {
	[XSTATE_AVX] = XCR0_AVX,
	[XSTATE_AVX512] = XCR0_AVX | XCR0_OPMASK | XCR0_ZMM_HI256 | XCR0_HI16_ZMM,
	[XSTATE_AMX] = XCR0_TILECFG | XCR0_TILEDATA,
	[XSTATE_PKRU] = XCR0_PKRU,
};

static bool row_shown(const struct build *b, const struct cpuid_row *row, u32 host_reg)
{
	if (row->rule == FORCE)
		return need_met(b, row->need) ||
		       (row->need == NEED_VIRTUAL_TIMER && host_reg >> row->bit & 1);
	return row->rule == SHOW && host_reg >> row->bit & 1 && need_met(b, row->need) &&
	       !(xstate_needed[row->xstate] & ~b->t->xcr0_allowed) &&
	       (row->ext || !(row->control & ~b->in->caps->cr4_allowed));
}

/* The leaf's feature bits by the rows; registers without rows are 0. */
static struct cpuid_regs features(struct build *b, u32 leaf, u32 subleaf)
{
	const struct cpuid_row *rows = leaf < LEAF_EXT ? cpuid_rows_basic : cpuid_rows_ext;
	unsigned n = leaf < LEAF_EXT ? cpuid_rows_basic_count : cpuid_rows_ext_count;
	struct cpuid_regs h = host(b, leaf, subleaf);
	const u32 in[4] = { h.eax, h.ebx, h.ecx, h.edx };
	u32 out[4] = { 0 };

	for (const struct cpuid_row *row = rows; row < rows + n; row++) {
		if (cpuid_row_leaf(row) != leaf || row->subleaf != subleaf ||
		    !row_shown(b, row, in[row->reg]))
			continue;
		out[row->reg] |= 1u << row->bit;
		*(row->ext ? &b->t->efer_allowed : &b->t->cr4_allowed) |= row->control;
	}
	return (struct cpuid_regs){ out[CPUID_EAX], out[CPUID_EBX], out[CPUID_ECX],
				    out[CPUID_EDX] };
}

static void leaf_vendor(struct build *b, u32 leaf)
{
	struct cpuid_regs r = host(b, leaf, 0);

	r.eax = leaf ? b->t->max_ext : b->t->max_basic;
	add_leaf(b, leaf, 0, false, r);
}

static void leaf_copy(struct build *b, u32 leaf)
{
	add_leaf(b, leaf, 0, false, host(b, leaf, 0));
}

static void leaf_features(struct build *b, u32 leaf)
{
	add_leaf(b, leaf, 0, false, features(b, leaf, 0));
}

/* EBX: brand index, CLFLUSH size and APIC IDs per package as the host; the APIC ID is dynamic. */
static void leaf_version(struct build *b, u32 leaf)
{
	struct cpuid_regs h = host(b, leaf, 0), r = features(b, leaf, 0);

	r.eax = h.eax;
	r.ebx = h.ebx & 0xffffff;
	add_leaf(b, leaf, 0, false, r);
}

static void leaf_structured(struct build *b, u32 leaf)
{
	u32 max = MIN(host(b, leaf, 0).eax, 2);

	for (u32 i = 0; i <= max; i++) {
		struct cpuid_regs r = features(b, leaf, i);

		if (i == 0)
			r.eax = max;
		add_leaf(b, leaf, i, true, r);
	}
}

/* The sizes of what MONITOR watches, and the C-states that MWAIT knows. */
static void leaf_mwait(struct build *b, u32 leaf)
{
	if (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && b->in->mwait)
		leaf_own(b, leaf);
}

static void leaf_counters(struct build *b, u32 leaf)
{
	struct cpuid_regs r = host(b, leaf, 0);
	struct counters c = counters_told(&r);

	if (IS_ENABLED(CONFIG_VM_COUNTERS) && b->in->counters && c.general)
		add_leaf(b, leaf, 0, false,
			 (struct cpuid_regs){ .eax = (r.eax & 0xffff0000) | c.general << 8 | 2u,
					      .ebx = r.ebx,
					      .edx = (r.edx & 0x1fe0) | c.fixed });
}

/* Leaves 0xB and 0x1F: the x2APIC ID is dynamic. Without a first level they are not there. */
static void leaf_topology(struct build *b, u32 leaf)
{
	if (host(b, leaf, 0).ebx)
		leaf_own(b, leaf);
}

/* Subleaf 0 ECX: the size with every allowed component; EBX of subleaves 0 and 1 is dynamic. */
static void leaf_xsave(struct build *b, u32 leaf)
{
	u64 xcr0 = b->t->xcr0_allowed;
	u32 size = 576;

	if (!xcr0)
		return;
	for (u32 i = 2; i < 63; i++) {
		struct cpuid_regs r = host(b, leaf, i);

		if (xcr0 & BIT(i))
			size = MAX(size, r.eax + r.ebx);
	}
	add_leaf(b, leaf, 0, true,
		 (struct cpuid_regs){ .eax = (u32)xcr0, .ecx = size, .edx = (u32)(xcr0 >> 32) });
	add_leaf(b, leaf, 1, true, features(b, leaf, 1));
	for (u32 i = 2; i < 63; i++)
		if (xcr0 & BIT(i))
			add_leaf(b, leaf, i, true, host(b, leaf, i));
}

/*
 * The APIC timer runs from this crystal, so that the two clocks are one ratio apart
 * (vmm/guest_platform.h).
 */
static void leaf_tsc(struct build *b, u32 leaf)
{
	if (b->intel && !b->in->direct)
		add_leaf(b, leaf, 0, false,
			 (struct cpuid_regs){ .eax = LAPIC_TIMER_HZ / 1000,
					      .ebx = (u32)b->in->tsc_khz,
					      .ecx = LAPIC_TIMER_HZ });
}

/* EAX of subleaf 0 counts the others. */
static void leaf_tile(struct build *b, u32 leaf)
{
	struct cpuid_regs r = host(b, leaf, 0);

	if (!(b->t->xcr0_allowed & XCR0_TILEDATA))
		return;
	r.eax = MIN(r.eax, PALETTES_MAX - 1);
	for (u32 i = 0; i <= r.eax; i++)
		add_leaf(b, leaf, i, true, i ? host(b, leaf, i) : r);
}

/*
 * Leaves 0x1E and 0x24: the first subleaf describes the instructions of AMX and AVX10; later ones
 * need rows first.
 */
static void leaf_first(struct build *b, u32 leaf)
{
	struct cpuid_regs r = host(b, leaf, 0);
	u64 state = leaf == 0x1e ? XCR0_TILEDATA : XCR0_ZMM_HI256;

	r.eax = 0;
	if (b->t->xcr0_allowed & state)
		add_leaf(b, leaf, 0, true, r);
}

static void leaf_hypervisor(struct build *b, u32 leaf)
{
	struct cpuid_regs r = { .eax = LEAF_HYPERVISOR_TIMING };

	memcpy(&r.ebx, "Marg", 4);
	memcpy(&r.ecx, "ayMa", 4);
	memcpy(&r.edx, "rgay", 4);
	add_leaf(b, leaf, 0, false, r);
	add_leaf(b, leaf + 1, 0, false, (struct cpuid_regs){ 0 });
}

static void leaf_timing(struct build *b, u32 leaf)
{
	add_leaf(b, leaf, 0, false,
		 (struct cpuid_regs){ .eax = (u32)b->in->tsc_khz,
				      .ebx = b->in->direct ? 0 : LAPIC_TIMER_HZ / 1000 });
}

static void leaf_kvm(struct build *b, u32 leaf)
{
	struct cpuid_regs r = { .eax = LEAF_KVM + 1 };
	u64 clock =
		KVM_FEATURE_CLOCKSOURCE2 | (b->in->tsc_stable ? KVM_FEATURE_CLOCKSOURCE_STABLE : 0);
	u64 eax = (b->in->pvclock ? clock : 0) | KVM_FEATURE_POLL_CONTROL |
		  (b->in->ext_dest_id ? KVM_FEATURE_MSI_EXT_DEST_ID : 0);

	memcpy(&r.ebx, "KVMK", 4);
	memcpy(&r.ecx, "VMKV", 4);
	memcpy(&r.edx, "M\0\0\0", 4);
	add_leaf(b, leaf, 0, false, r);
	add_leaf(b, leaf + 1, 0, false,
		 (struct cpuid_regs){ .eax = (u32)eax,
				      .edx = b->in->direct ? 0 : KVM_HINTS_REALTIME });
}

/* Bits that AMD repeats from leaf 1 EDX; bit 9 of both is dynamic. Intel's are 0. */
#define EXT_EDX_REPEATED 0x0183f1ffu

static void leaf_ext_features(struct build *b, u32 leaf)
{
	struct cpuid_regs h = host(b, leaf, 0), r = features(b, leaf, 0);

	r.eax = h.eax;
	r.ebx = h.ebx;
	r.edx |= h.edx & b->t->entry[b->t->basic_index[1]].regs.edx & EXT_EDX_REPEATED;
	add_leaf(b, leaf, 0, false, r);
}

/* EAX: address widths. ECX: the package's thread count and its bits in the APIC ID (AMD). */
static void leaf_sizes(struct build *b, u32 leaf)
{
	struct cpuid_regs h = host(b, leaf, 0), r = features(b, leaf, 0);

	r.eax = b->t->phys_bits | MIN(h.eax >> 8 & 0xff, 48u) << 8;
	r.ecx = h.ecx & 0xf0ff;
	add_leaf(b, leaf, 0, false, r);
}

/* Leaves 0x8000001D and 0x8000001E: the caches, and the ID of core and node. */
static void leaf_ext_topology(struct build *b, u32 leaf)
{
	if (b->t->entry[b->t->ext_index[1]].regs.ecx & BIT(22) /* topoext */)
		leaf_own(b, leaf);
}

/* clang-format off */
static const struct {
	u32 leaf;
	void (*build)(struct build *b, u32 leaf);
} leaves[] = {
	{ 0, leaf_vendor },
	{ 1, leaf_version },
	{ 2, leaf_own },
	{ 4, leaf_own },
	{ 5, leaf_mwait },
	{ 6, leaf_features },
	{ 7, leaf_structured },
	{ 0xa, leaf_counters },
	{ 0xb, leaf_topology },
	{ 0xd, leaf_xsave },
	{ 0x15, leaf_tsc },
	{ 0x16, leaf_own },
	{ 0x18, leaf_own },
	{ 0x1a, leaf_own },
	{ 0x1d, leaf_tile },
	{ 0x1e, leaf_first },
	{ 0x1f, leaf_topology },
	{ 0x24, leaf_first },
	{ LEAF_HYPERVISOR, leaf_hypervisor },
	{ LEAF_HYPERVISOR_TIMING, leaf_timing },
	{ LEAF_KVM, leaf_kvm },
	{ 0x80000000, leaf_vendor },
	{ 0x80000001, leaf_ext_features },
	{ 0x80000002, leaf_copy },
	{ 0x80000003, leaf_copy },
	{ 0x80000004, leaf_copy },
	{ 0x80000005, leaf_own },
	{ 0x80000006, leaf_own },
	{ 0x80000007, leaf_features },
	{ 0x80000008, leaf_sizes },
	{ 0x80000019, leaf_own },
	{ 0x8000001a, leaf_features },
	{ 0x8000001d, leaf_ext_topology },
	{ 0x8000001e, leaf_ext_topology },
	{ 0x80000021, leaf_features },
};
/* clang-format on */

static bool in_range(const struct cpuid_table *t, u32 leaf)
{
	if (leaf >= LEAF_EXT)
		return leaf <= t->max_ext;
	return leaf >= LEAF_HYPERVISOR || leaf <= t->max_basic;
}

static void index_leaf(struct cpuid_table *t, u32 leaf, unsigned first)
{
	if (first == t->count)
		return;
	if (leaf < ARRAY_SIZE(t->basic_index))
		t->basic_index[leaf] = (u8)first;
	else if (leaf >= LEAF_EXT && leaf - LEAF_EXT < ARRAY_SIZE(t->ext_index))
		t->ext_index[leaf - LEAF_EXT] = (u8)first;
}

/* The XCR0 that the guest may set: what the host has, the monitor knows, and CR4 can enable. */
static u64 allowed_xcr0(const struct build *b)
{
	struct cpuid_regs d = host(b, 0xd, 0);
	u64 xcr0 = ((u64)d.edx << 32 | d.eax) & XCR0_KNOWN;

	if (!(host(b, 1, 0).ecx & BIT(26) /* xsave */) || !(b->in->caps->cr4_allowed & CR4_OSXSAVE))
		return 0;
	if (!(b->in->caps->cr4_allowed & CR4_PKE))
		xcr0 &= ~XCR0_PKRU;
	return xcr0;
}

int cpuid_policy_build(const struct cpuid_input *in, struct cpuid_table *out)
{
	struct build b = { .in = in, .t = out };
	struct cpuid_regs r;
	u8 host_phys_bits;

	memset(out, 0, sizeof(*out));
	memset(out->basic_index, CPUID_NONE, sizeof(out->basic_index));
	memset(out->ext_index, CPUID_NONE, sizeof(out->ext_index));
	out->host = in->host;
	out->ctx = in->ctx;
	out->flat_vcpus = IS_ENABLED(CONFIG_NUMA) && in->flat ? in->nr_vcpus : 0;
	in->host(in->ctx, 0, 0, &r);
	b.host_max = r.eax;
	b.intel = !memcmp(&r.ebx, "Genu", 4);
	in->host(in->ctx, LEAF_EXT, 0, &r);
	b.host_max_ext = r.eax;
	b.amd = host(&b, 0x80000001, 0).edx & BIT(0); /* repeats leaf 1's bits: Hygon's, too */
	out->max_basic = MIN(b.host_max, LEAF_MAX);
	out->max_ext = MIN(b.host_max_ext, LEAF_EXT_MAX);
	out->xcr0_allowed = allowed_xcr0(&b);
	out->cr4_allowed = in->caps->cr4_allowed & CR4_PCE;
	host_phys_bits = host(&b, 0x80000008, 0).eax & 0xff;
	out->phys_bits = MIN(host_phys_bits ? host_phys_bits : 36, in->caps->phys_bits);
	for (unsigned i = 0; i < ARRAY_SIZE(leaves); i++) {
		unsigned first = out->count;

		if (!in_range(out, leaves[i].leaf))
			continue;
		leaves[i].build(&b, leaves[i].leaf);
		index_leaf(out, leaves[i].leaf, first);
	}
	return b.full ? -ENOSPC : 0;
}
