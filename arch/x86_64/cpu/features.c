/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUID as far as the host needs it, and the host's control registers. SDM vol. 2, CPUID; vol. 3,
 * 2.5, 5.10.
 */
#include <margay/errno.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/upcall.h"

struct cpu_features cpu_features;

/* The brand string is padded with blanks on either side (SDM vol. 2, CPUID 80000002H). */
static void read_brand(struct cpu_features *f)
{
	char raw[49] = { 0 };
	struct cpuid_regs r;
	size_t n;
	char *s;

	for (u32 i = 0; i < 3; i++) {
		cpuid(0x80000002 + i, 0, &r);
		memcpy(raw + 16 * i, &r, 16);
	}
	for (s = raw; *s == ' '; s++)
		;
	for (n = strlen(s); n && s[n - 1] == ' '; n--)
		;
	memcpy(f->brand, s, n);
	f->brand[n] = 0;
}

/*
 * The deepest C-state with substates enumerated; the hint's bits 7:4 are the state minus 1 (SDM
 * vol. 2, MWAIT).
 */
static void read_mwait(struct cpu_features *f)
{
	struct cpuid_regs r;

	if (f->max_basic < 5)
		return;
	cpuid(5, 0, &r);
	f->mwait = true;
	f->mwait_hint = 0;
	for (u32 state = 1; state < 8; state++) {
		u32 substates = r.edx >> (4 * state) & 0xf;

		if (substates)
			f->mwait_hint = (state - 1) << 4 | (substates - 1);
	}
}

int features_init(void)
{
	struct cpu_features *f = &cpu_features;
	struct cpuid_regs r;
	u32 ecx1, edx1;

	cpuid(0, 0, &r);
	f->max_basic = r.eax;
	f->vendor = cpu_vendor(&r);
	cpuid(0x80000000, 0, &r);
	f->max_ext = r.eax;

	cpuid(1, 0, &r);
	ecx1 = r.ecx;
	edx1 = r.edx;
	f->family = cpu_family(r.eax);
	f->model = cpu_model(r.eax);
	f->stepping = r.eax & 0xf;
	f->x2apic = ecx1 & BIT(21);
	f->tsc_deadline = ecx1 & BIT(24);
	f->xsave = ecx1 & BIT(26);
	f->hypervisor = ecx1 & BIT(31);
	if (f->hypervisor) {
		cpuid(0x40000000, 0, &r);
		f->tcg = !memcmp(&r.ebx, "TCGTCGTCGTCG", 12);
	}
	if (ecx1 & BIT(3))
		read_mwait(f);

	if (f->max_basic >= 6) {
		cpuid(6, 0, &r);
		f->arat = r.eax & BIT(2);
	}
	if (f->max_basic >= 7) {
		cpuid(7, 0, &r);
		f->tsc_adjust = r.ebx & BIT(1);
		f->smep = r.ebx & BIT(7);
		f->smap = r.ebx & BIT(20);
		f->umip = r.ecx & BIT(2);
	}
	cpuid(0x80000001, 0, &r);
	f->nx = r.edx & BIT(20);
	f->page_1g = r.edx & BIT(26);
	f->phys_bits = 36;
	if (IS_ENABLED(CONFIG_BOOT_LOG) && f->max_ext >= 0x80000004)
		read_brand(f);
	if (f->max_ext >= 0x80000007) {
		cpuid(0x80000007, 0, &r);
		f->invariant_tsc = r.edx & BIT(8);
	}
	if (f->max_ext >= 0x80000008) {
		cpuid(0x80000008, 0, &r);
		f->phys_bits = r.eax & 0xff;
	}

	/*
	 * The rest of what is needed every CPU with long mode has: FPU, TSC, MSRs, PAT, FXSR, SSE2.
	 */
	if (!(edx1 & BIT(9))) {
		upcall_log("this CPU lacks a local APIC, or has it off (CPUID 1 EDX bit 9)");
		return -ENODEV;
	}
	if (!f->nx) {
		upcall_log("this CPU lacks NX, or has it off (CPUID 80000001h EDX bit 20)");
		return -ENODEV;
	}
	return 0;
}

void features_setup_cpu(void)
{
	const struct cpu_features *f = &cpu_features;
	u64 cr4 = CR4_DE | CR4_PAE | CR4_MCE | CR4_PGE | CR4_OSFXSR | CR4_OSXMMEXCPT;

	if (f->xsave)
		cr4 |= CR4_OSXSAVE;
	if (f->smep)
		cr4 |= CR4_SMEP;
	if (f->smap)
		cr4 |= CR4_SMAP;
	if (f->umip)
		cr4 |= CR4_UMIP;
	write_cr0((read_cr0() & ~(CR0_EM | CR0_TS | CR0_AM | CR0_NW | CR0_CD)) | CR0_MP | CR0_NE |
		  CR0_WP);
	write_cr4(cr4);
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_NXE);
	wrmsr(MSR_PAT, PAT_HOST);
}
