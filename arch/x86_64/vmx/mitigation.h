/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what an Intel CPU needs at VM entry so that a guest cannot read
 * the host's or a former guest's data out of it (Intel, "Affected Processors:
 * Guidance for Security Issues on Intel Processors"; SDM vol. 4,
 * IA32_ARCH_CAPABILITIES).
 */
#ifndef VMX_MITIGATION_H
#define VMX_MITIGATION_H

#include <margay/x86.h>

struct vmx_mitigation {
	bool flush_l1d; /* write IA32_FLUSH_CMD.L1D_FLUSH: L1 terminal fault */
	bool verw;      /* execute VERW: MDS, TAA, MMIO stale data, RFDS */
	/* Affected, as far as the CPU says, but its microcode has no command against it: to be said at boot. */
	bool l1tf_open;
	bool mds_open;  /* microarchitectural data sampling */
};

/* cpuid7_edx: CPUID.7.0:EDX; arch_capabilities: MSR 0x10a, 0 where CPUID does not show it. */
struct vmx_mitigation vmx_mitigation(u32 cpuid7_edx, u64 arch_capabilities);

#endif
