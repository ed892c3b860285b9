/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the CPUID leaves that tell the topology (SDM vol. 2, CPUID, leaves
 * 1, 4, 0xB, 0x1F; APM vol. 3, appendix E.4, 0x80000008, 0x8000001D, 0x8000001E).
 * A guest that sees the node has each CPU's own with the host's APIC IDs; a flat
 * one has them rewritten as one package of single-threaded cores.
 */
#include "vmm/cpuid/cpuid_policy.h"

enum { LEVEL_THREAD = 1, LEVEL_CORE = 2 };

unsigned cpuid_smt_shift(cpuid_host_fn host, void *ctx)
{
	struct cpuid_regs r;
	u32 max, max_ext;

	host(ctx, 0, 0, &r);
	max = r.eax;
	host(ctx, 0x80000000, 0, &r);
	max_ext = r.eax;
	if (max >= 0xb) {
		host(ctx, 0xb, 0, &r);
		if (r.ebx && (r.ecx >> 8 & 0xff) == LEVEL_THREAD)
			return r.eax & 0x1f;
	}
	if (max_ext < 0x8000001e)
		return 0;
	host(ctx, 0x8000001e, 0, &r);
	/* EBX[15:8]: threads per core less one. */
	r.ebx = r.ebx >> 8 & 0xff;
	return r.ebx ? 32u - (unsigned)__builtin_clz(r.ebx) : 0;
}

static u32 with(u32 reg, unsigned low, unsigned bits, u32 value)
{
	u32 mask = ((1u << bits) - 1) << low;

	return (reg & ~mask) | (MIN(value, (1u << bits) - 1) << low);
}

/* A level of leaf 0xB or 0x1F. */
static struct cpuid_regs level(u32 subleaf, unsigned width, unsigned cpus)
{
	if (subleaf == 0)
		return (struct cpuid_regs){ .ebx = 1, .ecx = LEVEL_THREAD << 8 };
	if (subleaf == 1)
		return (struct cpuid_regs){ .eax = width, .ebx = cpus, .ecx = 1 | LEVEL_CORE << 8 };
	return (struct cpuid_regs){ .ecx = subleaf & 0xff };
}

void cpuid_flatten(struct cpuid_regs *r, u32 leaf, u32 subleaf, unsigned nr_vcpus, u32 apic_id)
{
	unsigned width = nr_vcpus > 1 ? 32u - (unsigned)__builtin_clz(nr_vcpus - 1) : 0;
	u32 ids = (1u << width) - 1; /* less one, as CPUID counts */
	/* the level of a cache: 3 and further out are the package's */
	bool shared = (r->eax >> 5 & 7) >= 3;

	switch (leaf) {
	case 1:
		r->ebx = with(r->ebx, 16, 8, nr_vcpus);
		r->edx = with(r->edx, 28, 1, nr_vcpus > 1);
		break;
	case 4:
		/* Behind the last cache the register is 0. */
		if (r->eax & 0x1f)
			r->eax = with(with(r->eax, 14, 12, shared ? ids : 0), 26, 6, ids);
		else
			r->eax = 0;
		break;
	case 0xb:
	case 0x1f: *r = level(subleaf, width, nr_vcpus); break;
	case 0x80000001:
		/* The vendor's own bit; Intel CPUs have none. */
		r->ecx = r->edx & BIT(0) ? with(r->ecx, 1, 1, nr_vcpus > 1) : r->ecx;
		break;
	case 0x80000008:
		if (r->ecx)
			r->ecx = MIN(nr_vcpus - 1, 0xffu) | width << 12;
		break;
	case 0x8000001d:
		if (r->eax & 0x1f)
			r->eax = with(r->eax, 14, 12, shared ? nr_vcpus - 1 : 0);
		else
			r->eax = 0;
		break;
	case 0x8000001e: *r = (struct cpuid_regs){ .ebx = apic_id & 0xff }; break;
	}
}
