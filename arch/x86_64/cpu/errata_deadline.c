/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs whose TSC deadline timer is not used. Nobody of us has seen them. */
#include "arch/x86_64/cpu/errata.h"
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/microcode.h"
#include "arch/x86_64/cpu/upcall.h"

#define TSC_DEADLINE BIT(24) /* 1 ECX */

/*
 * Intel's family 6 whose TSC deadline timer may not fire before this microcode: the specification
 * updates' "TSC Deadline Not Armed While in APIC Legacy Mode" and the like, by model and steppings
 * as Linux has them (apic.c, deadline_match, 6.1.192).
 */
/* clang-format off */
static const struct {
	/* steppings */
	u8 model;
	u8 first;
	u8 last;
	u32 good;
} deadlines[] = {
	/* Haswell-EP, -EX */
	{ 0x3f, 2, 2, 0x3a },
	{ 0x3f, 4, 4, 0x0f },
	/* Haswell */
	{ 0x3c, 0, 15, 0x22 },
	{ 0x45, 0, 15, 0x20 },
	{ 0x46, 0, 15, 0x17 },
	/* Broadwell-EP, -EX */
	{ 0x4f, 0, 15, 0x0b000020 },
	/* -DE */
	{ 0x56, 2, 2, 0x11 },
	{ 0x56, 3, 3, 0x0700000e },
	{ 0x56, 4, 4, 0x0f00000c },
	{ 0x56, 5, 5, 0x0e000003 },
	/* Broadwell */
	{ 0x3d, 0, 15, 0x25 },
	{ 0x47, 0, 15, 0x17 },
	/* Skylake-SP */
	{ 0x55, 3, 3, 0x01000136 },
	{ 0x55, 4, 4, 0x02000014 },
	/* Skylake, Kaby Lake */
	{ 0x4e, 0, 15, 0xb2 },
	{ 0x5e, 0, 15, 0xb2 },
	{ 0x8e, 0, 15, 0x52 },
	{ 0x9e, 0, 15, 0x52 },
};
/* clang-format on */

/* The microcode that a CPU of these needs for its TSC deadline timer; 0: any. */
static u32 deadline_needs(const struct cpu_features *f)
{
	for (unsigned i = 0; i < ARRAY_SIZE(deadlines); i++)
		if (f->family == 6 && f->model == deadlines[i].model &&
		    f->stepping >= deadlines[i].first && f->stepping <= deadlines[i].last)
			return deadlines[i].good;
	return 0;
}

void errata_init(void)
{
	struct cpu_features *f = &cpu_features;
	u32 needs, has;

	if (f->hypervisor || f->vendor != CPU_INTEL || !f->tsc_deadline)
		return;
	needs = deadline_needs(f);
	has = needs ? microcode_revision(CPU_INTEL) : 0;
	/* An emulator has none. */
	if (!has || has >= needs)
		return;
	f->tsc_deadline = false;
	upcall_log(
		"CPU: the TSC deadline timer is not used: an erratum, which microcode %#x has and %#x has not",
		has, needs);
}

void errata_mask_cpuid(u32 leaf, struct cpuid_regs *r)
{
	if (leaf == 1 && !cpu_features.tsc_deadline)
		r->ecx &= ~(u32)TSC_DEADLINE;
}
