/* SPDX-License-Identifier: GPL-2.0-only */
/* The revision of the microcode that this CPU has. */
#include <margay/host.h>

#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/microcode.h"

u32 microcode_revision(enum cpu_vendor vendor)
{
	struct cpuid_regs r;
	u64 value;

	/* SDM vol. 3, 10.11.7.1: CPUID stores it, and only where the register held 0. */
	if (vendor == CPU_INTEL)
		(void)host_wrmsr(MSR_BIOS_SIGN_ID, 0);
	cpuid(1, 0, &r);
	(void)host_rdmsr(MSR_BIOS_SIGN_ID, &value);
	return (u32)(vendor == CPU_INTEL ? value >> 32 : value);
}
