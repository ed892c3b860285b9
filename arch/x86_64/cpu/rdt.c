/* SPDX-License-Identifier: GPL-2.0-only */
/* Which part of a cache and of memory bandwidth somebody gets: rdt.h. */
#include "arch/x86_64/cpu/rdt.h"

#define LEAF_COUNTS 0xf
#define COUNTS_L3 BIT(1) /* of EDX */
#define COUNTER_BITS 24
#define COUNTER_BITS_AMD 44
#define LEAF 0x10
#define LEAF_L3 BIT(1)
#define LEAF_L2 BIT(2)
#define LEAF_BANDWIDTH BIT(3)
#define CDP BIT(2)
#define BANDWIDTH_LINEAR BIT(2)
#define LEAF_AMD 0x80000020
#define AMD_LIMITS BIT(1) /* L3 external read bandwidth enforcement */
#define LIMIT_BITS_MAX 31u
#define MASKS_L3 0xc90
#define MASKS_L2 0xd10
#define WAYS_MAX 32u

typedef void cpuid_fn(u32 leaf, u32 subleaf, struct cpuid_regs *out);

/*
 * Bits of the APIC ID that tell CPUs apart that share a cache of that level; by leaf 4, or AMD's of
 * the same layout.
 */
static unsigned id_shift(cpuid_fn *cpuid, unsigned level)
{
	static const u32 leaves[] = { 4, 0x8000001d };
	struct cpuid_regs r;
	unsigned shift = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(leaves); i++) {
		cpuid(leaves[i] & 0x80000000, 0, &r);
		if (r.eax < leaves[i])
			continue;
		for (u32 n = 0; n < 8; n++) {
			cpuid(leaves[i], n, &r);
			if ((r.eax & 0x1f) && (r.eax >> 5 & 7) == level)
				while (1u << shift <= (r.eax >> 14 & 0xfff))
					shift++;
		}
	}
	return shift;
}

/* Subleaf 1 is of the L3 cache, 2 of the L2. A class counts only where all have it. */
static void read_cache(cpuid_fn *cpuid, unsigned level, struct rdt_caps *out)
{
	struct cpuid_regs r;
	unsigned classes;

	cpuid(LEAF, 4 - level, &r);
	classes = (r.edx & 0xffff) + 1;
	out->classes = out->classes ? MIN(out->classes, classes) : classes;
	out->cdp[3 - level] = r.ecx & CDP;
	if (out->ways)
		return;
	out->level = level;
	out->ways = (r.eax & 0x1f) + 1;
	out->devices = r.ebx;
	out->masks = level == 3 ? MASKS_L3 : MASKS_L2;
}

static void read_counts(cpuid_fn *cpuid, bool amd, struct rdt_caps *out)
{
	struct cpuid_regs r;

	cpuid(LEAF_COUNTS, 0, &r);
	if (!(r.edx & COUNTS_L3))
		return;
	cpuid(LEAF_COUNTS, 1, &r);
	out->ids = r.ecx;
	out->events = (r.edx & 7) << RDT_HELD;
	out->unit = r.ebx;
	/* AMD's are wider, and do not all say so. */
	out->counter_bits =
		amd && !(r.eax & 0xff) ? COUNTER_BITS_AMD : COUNTER_BITS + (r.eax & 0xff);
	out->counter_bits = MIN(out->counter_bits, 62u);
}

void rdt_read(cpuid_fn *cpuid, struct rdt_caps *out)
{
	struct cpuid_regs r;
	bool amd;
	u32 basic;

	*out = (struct rdt_caps){ .level = 3 };
	cpuid(0, 0, &r);
	basic = r.eax;
	cpuid(0x80000000, 0, &r);
	amd = r.eax >= LEAF_AMD;
	if (basic >= LEAF) {
		cpuid(LEAF, 0, &r);
		if (r.ebx & LEAF_L3)
			read_cache(cpuid, 3, out);
		if (r.ebx & LEAF_L2)
			read_cache(cpuid, 2, out);
		if (r.ebx & LEAF_BANDWIDTH) {
			cpuid(LEAF, 3, &r);
			out->throttle_max =
				r.ecx & BANDWIDTH_LINEAR ? MIN((r.eax & 0xfff) + 1, 99u) : 0;
			out->bandwidth_classes = (r.edx & 0xffff) + 1;
		}
	}
	cpuid(LEAF_AMD, 0, &r);
	if (amd && r.ebx & AMD_LIMITS && !out->throttle_max) {
		cpuid(LEAF_AMD, 1, &r);
		out->limit_bits = MIN(r.eax, LIMIT_BITS_MAX);
		out->bandwidth_classes = (r.edx & 0xffff) + 1;
	}
	if (basic >= LEAF_COUNTS)
		read_counts(cpuid, amd, out);
	out->id_shift = id_shift(cpuid, out->level);
}

static u32 ways_from(unsigned first, unsigned count)
{
	return (u32)((BIT(count) - 1) << first);
}

u32 rdt_rest(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count, u32 cache)
{
	u32 rest = ways_from(0, caps->ways);

	for (unsigned i = 0; i < count; i++)
		if (shares[i].owner && shares[i].cache == cache)
			rest &= ~shares[i].mask;
	return rest;
}

static bool find_class(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count,
		       u32 cache, unsigned *class)
{
	unsigned classes =
		MIN(caps->ways ? caps->classes : WAYS_MAX,
		    caps->throttle_max || caps->limit_bits ? caps->bandwidth_classes : WAYS_MAX);
	u64 used = 1;

	for (unsigned i = 0; i < count; i++)
		if (shares[i].owner && shares[i].cache == cache)
			used |= BIT(shares[i].class);
	*class = (unsigned)__builtin_ctzll(~used);
	return *class < classes;
}

bool rdt_find(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count,
	      u32 cache, unsigned ways, u32 *mask, unsigned *class)
{
	u32 rest = rdt_rest(caps, shares, count, cache);

	*mask = 0;
	if (!find_class(caps, shares, count, cache, class))
		return false;
	if (!ways)
		return true;
	for (unsigned pass = 0; !*mask && pass < 2; pass++)
		for (unsigned first = 0; first + ways <= caps->ways && !*mask; first++) {
			u32 want = ways_from(first, ways);

			/* With all of them nobody else could store anything. */
			if ((rest & want) == want && rest != want &&
			    (pass || !(want & caps->devices)))
				*mask = want;
		}
	return *mask;
}

unsigned rdt_throttle(const struct rdt_caps *caps, unsigned percent)
{
	/* SDM vol. 3, 18.19.7.1: linear ones have steps of what is between the most and all. */
	unsigned step = 100 - caps->throttle_max, throttle = MIN(100 - percent, caps->throttle_max);

	return throttle - throttle % step;
}

u32 rdt_limit(const struct rdt_caps *caps, unsigned gigabytes)
{
	if (!caps->limit_bits)
		return 0;
	return gigabytes ? gigabytes * RDT_LIMIT_UNITS_PER_GB : 1u << caps->limit_bits;
}

u64 rdt_traffic(const struct rdt_caps *caps, u64 before, u64 now)
{
	return ((now - before) & (BIT(caps->counter_bits) - 1)) * caps->unit;
}
