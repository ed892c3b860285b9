/* SPDX-License-Identifier: GPL-2.0-only */
/* Errata against which something is set or kept away, as tables. Nobody of us has seen them. */
#include "arch/x86_64/cpu/errata.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"

#define AMD_STIBP BIT(15)    /* 0x80000008 EBX: of family 17h, Zen 2 has it and Zen has not */
#define HLE BIT(4)           /* 7 EBX */

enum stibp { ANY, WITH, WITHOUT };

/* A bit of AMD's that is to be set on each CPU of these models. */
static const struct {
	/* models */
	u8 family;
	u8 first;
	u8 last;
	u8 stibp;               /* enum stibp */
	u32 msr;
	u64 bit;
} set_bits[] = {
	/* 793: a locked access beside a write of write-combining memory may hang the core. */
	{ 0x16, 0x00, 0x0f, ANY, MSR_AMD_LS_CFG, BIT(15) },
	/* AMD-SN-7053: what the divider had of one is seen by the next. */
	{ 0x17, 0x00, 0xff, WITHOUT, MSR_AMD_FP_CFG, BIT(9) },
	/* AMD-SN-7052: the op cache may give what is not there. */
	{ 0x17, 0x00, 0xff, WITH, MSR_AMD_BP_CFG, BIT(33) },
	/*
	 * 1485: beside a busy thread an instruction may be fetched wrong. Zen 4's models, as Linux
	 * has them.
	 */
	{ 0x19, 0x10, 0x1f, ANY, MSR_AMD_BP_CFG, BIT(5) },
	{ 0x19, 0x60, 0xaf, ANY, MSR_AMD_BP_CFG, BIT(5) },
};

/* A register that is not there or refuses belongs to what is below, whatever CPUID says. */
static void set(u32 msr, u64 bits)
{
	u64 value;

	if (!host_rdmsr(msr, &value) && (value & bits) != bits)
		(void)host_wrmsr(msr, value | bits);
}

static void set_amd(const struct cpu_features *f)
{
	struct cpuid_regs r = { 0 };
	enum stibp has;

	if (f->max_ext >= 0x80000008)
		cpuid(0x80000008, 0, &r);
	has = r.ebx & AMD_STIBP ? WITH : WITHOUT;
	for (unsigned i = 0; i < ARRAY_SIZE(set_bits); i++)
		if (f->family == set_bits[i].family && f->model >= set_bits[i].first &&
		    f->model <= set_bits[i].last &&
		    (set_bits[i].stibp == ANY || set_bits[i].stibp == has))
			set(set_bits[i].msr, set_bits[i].bit);
}

void errata_init_cpu(void)
{
	if (!cpu_features.hypervisor && cpu_features.vendor == CPU_AMD)
		set_amd(&cpu_features);
}

bool errata_hle_hangs(void)
{
	static const u8 models[] = { 0x4e, 0x55, 0x5e, 0x8e, 0x9e };
	const struct cpu_features *f = &cpu_features;
	struct cpuid_regs r;

	if (f->hypervisor || f->vendor != CPU_INTEL || f->family != 6 || f->max_basic < 7)
		return false;
	cpuid(7, 0, &r);
	for (unsigned i = 0; i < ARRAY_SIZE(models); i++)
		if (f->model == models[i])
			return r.ebx & HLE;
	return false;
}
