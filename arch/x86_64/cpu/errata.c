/* SPDX-License-Identifier: GPL-2.0-only */
/* Errata against which something is set or kept away. */
#include "arch/x86_64/cpu/errata.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"

#define LS_CFG_793 BIT(15)
#define FP_CFG_DIVIDER BIT(9)
#define BP_CFG_OP_CACHE BIT(33)
#define AMD_STIBP BIT(15) /* 0x80000008 EBX: of family 17h, Zen 2 has it and Zen has not */
#define HLE BIT(4)        /* 7 EBX */

/* A register that is not there or refuses belongs to what is below, whatever CPUID says. */
static void set(u32 msr, u64 bits)
{
	u64 value;

	if (!host_rdmsr(msr, &value) && (value & bits) != bits)
		(void)host_wrmsr(msr, value | bits);
}

void errata_init_cpu(void)
{
	const struct cpu_features *f = &cpu_features;
	struct cpuid_regs r = { 0 };

	if (f->hypervisor || f->vendor != CPU_AMD)
		return;
	if (f->max_ext >= 0x80000008)
		cpuid(0x80000008, 0, &r);
	/* A locked access beside a write of write-combining memory may hang the core. */
	if (f->family == 0x16 && f->model <= 0xf)
		set(MSR_AMD_LS_CFG, LS_CFG_793);
	/* What the divider had of one is seen by the next; and the op cache may give what is not there. */
	if (f->family == 0x17 && !(r.ebx & AMD_STIBP))
		set(MSR_AMD_FP_CFG, FP_CFG_DIVIDER);
	else if (f->family == 0x17)
		set(MSR_AMD_BP_CFG, BP_CFG_OP_CACHE);
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
