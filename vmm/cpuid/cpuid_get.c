/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: reads a VM's CPUID table for a vCPU: the leaf asked for, with
 * the parts that follow the vCPU's state (SDM vol. 2, CPUID; XSAVE sizes: SDM
 * vol. 1, 13.4). And which XCR0 and XSS that table allows.
 */
#include <margay/string.h>

#include "vmm/cpuid/cpuid_policy.h"

#define LEAF_EXT 0x80000000u
#define LEAF_HYPERVISOR 0x40000000u
#define LEAF_HYPERVISOR_END 0x50000000u

/* Legacy region and header of an XSAVE area. */
#define XSAVE_BASE 576u

static unsigned find_leaf(const struct cpuid_table *t, u32 leaf)
{
	if (leaf < ARRAY_SIZE(t->basic_index))
		return cpuid_first(t->basic_index, leaf);
	if (leaf >= LEAF_EXT && leaf - LEAF_EXT < ARRAY_SIZE(t->ext_index))
		return cpuid_first(t->ext_index, leaf - LEAF_EXT);
	for (unsigned i = 0; i < t->count; i++)
		if (t->entry[i].leaf == leaf)
			return i;
	return CPUID_NONE;
}

static const struct cpuid_entry *find_entry(const struct cpuid_table *t, u32 leaf, u32 subleaf)
{
	for (unsigned i = find_leaf(t, leaf); i < t->count && t->entry[i].leaf == leaf; i++)
		if (!t->entry[i].has_subleaf || t->entry[i].subleaf == subleaf)
			return &t->entry[i];
	return NULL;
}

/* Above the highest leaf Intel CPUs repeat the highest basic one, AMD's give zeros. */
static u32 clamp_leaf(const struct cpuid_table *t, u32 leaf)
{
	bool out = leaf < LEAF_EXT ? leaf > t->max_basic : leaf > t->max_ext;

	if (!out || (leaf >= LEAF_HYPERVISOR && leaf < LEAF_HYPERVISOR_END))
		return leaf;
	return memcmp(&t->entry[0].regs.ebx, "Genu", 4) ? leaf : t->max_basic;
}

/* Size of an XSAVE area in the standard or the compacted format. */
static u32 xsave_size(const struct cpuid_table *t, u64 components, bool compacted)
{
	u32 size = XSAVE_BASE;

	for (u32 i = 2; i < 63; i++) {
		const struct cpuid_entry *e = components & BIT(i) ? find_entry(t, 0xd, i) : NULL;

		if (!e)
			continue;
		if (!compacted)
			size = MAX(size, e->regs.ebx + e->regs.eax);
		else
			size = (u32)(e->regs.ecx & 2 ? ALIGN_UP(size, 64) : size) + e->regs.eax;
	}
	return size;
}

static void dynamic_leaf_1(const struct cpuid_dynamic *dyn, struct cpuid_regs *r)
{
	r->ebx |= (dyn->apic_id & 0xff) << 24;
	if (dyn->cr4 & CR4_OSXSAVE)
		r->ecx |= BIT(27);
	if (dyn->apic_enabled)
		r->edx |= BIT(9);
}

static void dynamic(const struct cpuid_table *t, const struct cpuid_dynamic *dyn, u32 leaf,
		    u32 subleaf, struct cpuid_regs *r)
{
	switch (leaf) {
	case 1: dynamic_leaf_1(dyn, r); break;
	case 7:
		if (subleaf == 0 && dyn->cr4 & CR4_PKE)
			r->ecx |= BIT(4);
		break;
	case 0xd:
		if (subleaf == 0)
			r->ebx = xsave_size(t, dyn->xcr0, false);
		else if (subleaf == 1 && r->eax & (BIT(1) | BIT(3)))
			r->ebx = xsave_size(t, dyn->xcr0 | dyn->xss, true);
		break;
	case 0x80000001:
		/* AMD repeats the APIC bit, with FPU's as the sign that it repeats at all. */
		if (r->edx & BIT(0) && dyn->apic_enabled)
			r->edx |= BIT(9);
		break;
	case 0x8000001e: r->eax = dyn->apic_id; break;
	}
}

/* What the CPU says that runs the vCPU. */
static void read_own(const struct cpuid_table *t, const struct cpuid_dynamic *dyn, u32 leaf,
		     u32 subleaf, struct cpuid_regs *out)
{
	t->host(t->ctx, leaf, subleaf, out);
	if (cpuid_is_flat(t))
		cpuid_flatten(out, leaf, subleaf, t->flat_vcpus, dyn->apic_id);
}

static bool is_topology(const struct cpuid_table *t, u32 leaf)
{
	return (leaf == 0xb || leaf == 0x1f) && find_leaf(t, leaf) != CPUID_NONE;
}

void cpuid_get(const struct cpuid_table *t, const struct cpuid_dynamic *dyn, u32 leaf, u32 subleaf,
	       struct cpuid_regs *out)
{
	const struct cpuid_entry *e;

	leaf = clamp_leaf(t, leaf);
	e = find_entry(t, leaf, subleaf);
	*out = e ? e->regs : (struct cpuid_regs){ 0 };
	if (e && e->own)
		read_own(t, dyn, leaf, subleaf, out);
	if (is_topology(t, leaf)) {
		/* A level that does not exist has no type, but its number and the ID. */
		if (subleaf && !(out->ecx >> 8 & 0xff))
			*out = (struct cpuid_regs){ .ecx = subleaf & 0xff };
		out->edx = dyn->apic_id;
	}
	if (e)
		dynamic(t, dyn, leaf, subleaf, out);
}

bool cpuid_leaf_dynamic(u32 leaf)
{
	switch (leaf) {
	case 1:
	case 7:
	case 0xb:
	case 0xd:
	case 0x1f:
	case 0x80000001:
	case 0x8000001e: return true;
	}
	return false;
}

/* All or none of them. */
static bool together(u64 value, u64 bits)
{
	return (value & bits) == 0 || (value & bits) == bits;
}

bool cpuid_policy_xcr0_valid(const struct cpuid_table *t, u64 xcr0)
{
	const u64 avx512 = XCR0_OPMASK | XCR0_ZMM_HI256 | XCR0_HI16_ZMM;

	if (xcr0 & ~t->xcr0_allowed || !(xcr0 & XCR0_X87))
		return false;
	if (xcr0 & XCR0_AVX && !(xcr0 & XCR0_SSE))
		return false;
	if (xcr0 & avx512 && !(xcr0 & XCR0_AVX))
		return false;
	return together(xcr0, avx512) && together(xcr0, XCR0_TILECFG | XCR0_TILEDATA);
}
