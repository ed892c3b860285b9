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

static void read_leaves(struct cpu_features *f)
{
	struct cpuid_regs r;

	cpuid(0, 0, &r);
	f->max_basic = r.eax;
	f->vendor = cpu_vendor(&r);
	cpuid(0x80000000, 0, &r);
	f->max_ext = r.eax;
}

static void read_hypervisor(struct cpu_features *f)
{
	struct cpuid_regs r;

	cpuid(0x40000000, 0, &r);
	f->tcg = !memcmp(&r.ebx, "TCGTCGTCGTCG", 12);
}

static void read_version(struct cpu_features *f, const struct cpuid_regs *leaf1)
{
	f->family = cpu_family(leaf1->eax);
	f->model = cpu_model(leaf1->eax);
	f->stepping = leaf1->eax & 0xf;
	f->x2apic = leaf1->ecx & BIT(21);
	f->tsc_deadline = leaf1->ecx & BIT(24);
	f->xsave = leaf1->ecx & BIT(26);
	f->hypervisor = leaf1->ecx & BIT(31);
	if (f->hypervisor)
		read_hypervisor(f);
	if (leaf1->ecx & BIT(3))
		read_mwait(f);
}

/* The other leaves that begin at 0. */
static void read_basic(struct cpu_features *f)
{
	struct cpuid_regs r;

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
}

/* Those that begin at 80000000h. */
static void read_extended(struct cpu_features *f)
{
	struct cpuid_regs r;

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
}

/* The rest of what is needed every CPU with long mode has: FPU, TSC, MSRs, PAT, FXSR, SSE2. */
static int check_needed(const struct cpu_features *f, const struct cpuid_regs *leaf1)
{
	if (!(leaf1->edx & BIT(9))) {
		upcall_log("this CPU lacks a local APIC, or has it off (CPUID 1 EDX bit 9)");
		return -ENODEV;
	}
	if (!f->nx) {
		upcall_log("this CPU lacks NX, or has it off (CPUID 80000001h EDX bit 20)");
		return -ENODEV;
	}
	return 0;
}

int features_init(void)
{
	struct cpu_features *f = &cpu_features;
	struct cpuid_regs leaf1;

	read_leaves(f);
	cpuid(1, 0, &leaf1);
	read_version(f, &leaf1);
	read_basic(f);
	read_extended(f);
	return check_needed(f, &leaf1);
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
