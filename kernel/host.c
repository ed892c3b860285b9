/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is left of <margay/host.h> where the kernel has it under other names:
 * single instructions and the direct map, inline functions of the CPU layer,
 * and what an option or a pure module gives.
 */
#include <margay/host.h>
#include "arch/x86_64/cpu/fpu.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/safe.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci.h"

unsigned host_node_count(void)
{
	return numa_node_count();
}

u8 host_node_distance(unsigned from, unsigned to)
{
	return numa_distance(from, to);
}

hpa_t host_virt_to_hpa(const void *va)
{
	return hpa(virt_to_phys(va));
}

void *host_hpa_to_virt(hpa_t pa)
{
	return phys_to_virt(pa.v);
}

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	cpuid(leaf, subleaf, out);
}

u64 host_tsc(void)
{
	return rdtsc();
}

int host_rdmsr(u32 msr, u64 *value)
{
	return rdmsr_safe(msr, value);
}

int host_wrmsr(u32 msr, u64 value)
{
	return wrmsr_safe(msr, value);
}

int host_xsetbv(u32 xcr, u64 value)
{
	return xsetbv_safe(xcr, value);
}

void host_fpu_reset(u64 xcr0)
{
	fpu_reset(xcr0);
}

void host_wbinvd(void)
{
	asm volatile("wbinvd" : : : "memory");
}

bool host_pci_info(unsigned i, struct pci_info *out)
{
	return IS_ENABLED(CONFIG_PCI) && pci_info(i, out);
}
