/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the boot CPU can do, as far as the host itself needs to know, and the
 * host's control registers. SDM vol. 2, CPUID; vol. 3, 2.5; APM vol. 3,
 * appendix E.
 */
#ifndef ARCH_CPU_FEATURES_H
#define ARCH_CPU_FEATURES_H

#include <margay/x86.h>

enum cpu_vendor { CPU_INTEL, CPU_AMD, CPU_OTHER };

/* By CPUID leaf 0. */
static inline enum cpu_vendor cpu_vendor(const struct cpuid_regs *r)
{
	if (r->ebx == 0x756e6547 && r->edx == 0x49656e69 && r->ecx == 0x6c65746e) /* GenuineIntel */
		return CPU_INTEL;
	if (r->ebx == 0x68747541 && r->edx == 0x69746e65 && r->ecx == 0x444d4163) /* AuthenticAMD */
		return CPU_AMD;
	if (r->ebx == 0x6f677948 && r->edx == 0x6e65476e && r->ecx == 0x656e6975) /* HygonGenuine */
		return CPU_AMD;
	return CPU_OTHER;
}

/* By CPUID 1 EAX. */
static inline u32 cpu_family(u32 eax)
{
	u32 family = eax >> 8 & 0xf;

	return family == 15 ? family + (eax >> 20 & 0xff) : family;
}

static inline u32 cpu_model(u32 eax)
{
	u32 family = eax >> 8 & 0xf, model = eax >> 4 & 0xf;

	return family == 6 || family == 15 ? model | (eax >> 12 & 0xf0) : model;
}

struct cpu_features {
	enum cpu_vendor vendor; /* Hygon counts as AMD */
	u32 family;
	u32 model;
	u32 stepping;
	char brand[49]; /* "" when the CPU does not say */
	/* highest leaves */
	u32 max_basic;
	u32 max_ext;

	u8 phys_bits;
	bool nx;
	bool page_1g;
	bool xsave;
	bool smep;
	bool smap;
	bool umip;
	bool x2apic;
	bool tsc_deadline;
	bool tsc_adjust;
	bool invariant_tsc;
	bool arat; /* the APIC timer runs in deep C-states */
	bool mwait;
	u32 mwait_hint; /* EAX of the deepest C-state that CPUID 5 enumerates */
	bool hypervisor; /* CPUID.1:ECX[31]: we are a guest ourselves */
	bool tcg; /* ... of QEMU's TCG */
};

/* Filled in by features_init() and errata_init(), constant afterwards. */
extern struct cpu_features cpu_features;

/* Reads CPUID. 0, or -ENODEV when something that the LWK needs is missing (logged by name). */
int features_init(void);

/*
 * CR0, CR4, EFER and PAT of the calling CPU as the host wants them: write
 * protection, NX, SMEP/SMAP, machine checks and OSXSAVE on; PAT as
 * PAT_HOST; caches on. Leaves EFER.SCE and the syscall MSRs alone: they
 * hold the guest's values.
 */
void features_setup_cpu(void);

#endif
