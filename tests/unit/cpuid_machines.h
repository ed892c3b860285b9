/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorded machines as hosts of the CPUID policy, for the tests that include this. */
#ifndef CPUID_MACHINES_H
#define CPUID_MACHINES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "cpuid_recorded.h"
#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/cpuid/cpuid_table.h"
#include "vmm/hvm_ops.h"

struct machine {
	const char *name;
	const struct recorded_leaf *leaf;
	unsigned count;
};

static const struct machine machines[] = {
	{ "QEMU", qemu_tcg_max, ARRAY_SIZE(qemu_tcg_max) },
	{ "Bochs", bochs_haswell, ARRAY_SIZE(bochs_haswell) },
	{ "Skylake-SP", skylake_sp, ARRAY_SIZE(skylake_sp) },
	{ "Sapphire Rapids", sapphire_rapids, ARRAY_SIZE(sapphire_rapids) },
	{ "Zen 4", zen4, ARRAY_SIZE(zen4) },
};
enum { QEMU, BOCHS, SKYLAKE, SAPPHIRE, ZEN4 };

static const struct hvm_caps all_caps = {
	.stage2_1g = true,
	.phys_bits = 52,
	.insn_len = true,
	.rdtscp = true,
	.invpcid = true,
	.xsaves = true,
	.waitpkg = true,
	.pcid = true,
	.cr4_allowed = ~0ull,
};

static struct cpuid_table table;
static struct cpuid_dynamic dyn;

static void recorded(void *ctx, u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	const struct machine *m = ctx;

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < m->count; i++)
		if (m->leaf[i].leaf == leaf && m->leaf[i].subleaf == subleaf)
			*out = m->leaf[i].regs;
}

static bool without_pvclock, clock_freezes;

static int build_with(unsigned machine, const struct hvm_caps *caps, bool stable)
{
	struct cpuid_input in = {
		.host = recorded,
		.ctx = (void *)&machines[machine],
		.caps = caps,
		.nr_vcpus = 1,
		.tsc_khz = 2994375,
		.tsc_stable = stable,
		.tsc_freezes = clock_freezes,
		.pvclock = !without_pvclock,
		.arch_capabilities_ok = true,
	};

	dyn = (struct cpuid_dynamic){ .apic_enabled = true, .xcr0 = 1 };
	return cpuid_policy_build(&in, &table);
}

static void build(unsigned machine)
{
	assert_int_equal(build_with(machine, &all_caps, true), 0);
}

static struct cpuid_regs get(u32 leaf, u32 subleaf)
{
	struct cpuid_regs r;

	cpuid_get(&table, &dyn, leaf, subleaf, &r);
	return r;
}

static void expect(u32 leaf, u32 subleaf, u32 eax, u32 ebx, u32 ecx, u32 edx)
{
	struct cpuid_regs r = get(leaf, subleaf);

	if (r.eax != eax || r.ebx != ebx || r.ecx != ecx || r.edx != edx)
		fail_msg("leaf %#x/%u: %08x %08x %08x %08x, expected %08x %08x %08x %08x", leaf,
			 subleaf, r.eax, r.ebx, r.ecx, r.edx, eax, ebx, ecx, edx);
}

#define B(n) (1u << (n))

#endif
