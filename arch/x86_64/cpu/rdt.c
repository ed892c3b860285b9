/* SPDX-License-Identifier: GPL-2.0-only */
/* Which part of a cache and of memory bandwidth somebody gets: rdt.h. */
#include "arch/x86_64/cpu/rdt.h"

#define LEAF 0x10
#define LEAF_L3 BIT(1)
#define LEAF_BANDWIDTH BIT(3)
#define L3_CDP BIT(2)
#define BANDWIDTH_LINEAR BIT(2)
#define WAYS_MAX 32u

/* Bits of the APIC ID that tell CPUs apart that share an L3 cache; by leaf 4, or AMD's of the same layout. */
static unsigned id_shift(void (*cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out))
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
			if ((r.eax & 0x1f) && (r.eax >> 5 & 7) == 3)
				while (1u << shift <= (r.eax >> 14 & 0xfff))
					shift++;
		}
	}
	return shift;
}

void rdt_read(void (*cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out), struct rdt_caps *out)
{
	struct cpuid_regs r;
	u32 kinds;

	*out = (struct rdt_caps){ .id_shift = id_shift(cpuid) };
	cpuid(0, 0, &r);
	if (r.eax < LEAF)
		return;
	cpuid(LEAF, 0, &r);
	kinds = r.ebx;
	if (kinds & LEAF_L3) {
		cpuid(LEAF, 1, &r);
		out->ways = (r.eax & 0x1f) + 1;
		out->devices = r.ebx;
		out->cdp = r.ecx & L3_CDP;
		out->classes = (r.edx & 0xffff) + 1;
	}
	if (kinds & LEAF_BANDWIDTH) {
		cpuid(LEAF, 3, &r);
		out->throttle_max = r.ecx & BANDWIDTH_LINEAR ? MIN((r.eax & 0xfff) + 1, 99u) : 0;
		out->throttle_classes = (r.edx & 0xffff) + 1;
	}
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

static bool find_class(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count, u32 cache, unsigned *class)
{
	unsigned classes = MIN(caps->ways ? caps->classes : WAYS_MAX, caps->throttle_max ? caps->throttle_classes : WAYS_MAX);
	u64 used = 1;

	for (unsigned i = 0; i < count; i++)
		if (shares[i].owner && shares[i].cache == cache)
			used |= BIT(shares[i].class);
	*class = (unsigned)__builtin_ctzll(~used);
	return *class < classes;
}

bool rdt_find(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count, u32 cache, unsigned ways, u32 *mask,
	      unsigned *class)
{
	u32 rest = rdt_rest(caps, shares, count, cache);

	*mask = 0;
	if (!find_class(caps, shares, count, cache, class))
		return false;
	for (unsigned pass = 0; ways && !*mask && pass < 2; pass++)
		for (unsigned first = 0; first + ways <= caps->ways && !*mask; first++) {
			u32 want = ways_from(first, ways);

			/* With all of them nobody else could store anything. */
			if ((rest & want) == want && rest != want && (pass || !(want & caps->devices)))
				*mask = want;
		}
	return !ways || *mask;
}

unsigned rdt_throttle(const struct rdt_caps *caps, unsigned percent)
{
	/* SDM vol. 3, 18.19.7.1: linear ones have steps of what is between the most and all. */
	unsigned step = 100 - caps->throttle_max, throttle = MIN(100 - percent, caps->throttle_max);

	return throttle - throttle % step;
}
