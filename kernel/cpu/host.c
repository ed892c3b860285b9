/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What <margay/host.h> asks for and the kernel has under other names: single
 * instructions, which are inline functions of the CPU layer, and NUMA nodes, of
 * a pure module that is not in every image.
 */
#include <margay/host.h>
#include "arch/x86_64/cpu/errata.h"
#include "arch/x86_64/cpu/insn.h"
#include "kernel/memory/numa.h"

unsigned host_node_count(void)
{
	return numa_node_count();
}

u8 host_node_distance(unsigned from, unsigned to)
{
	return numa_distance(from, to);
}

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	cpuid(leaf, subleaf, out);
	errata_mask_cpuid(leaf, out);
}

void host_wbinvd(void)
{
	asm volatile("wbinvd" : : : "memory");
}
