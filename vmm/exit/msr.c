/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MSR policy: a table of ranges with their reader and writer. An MSR that
 * neither this table nor a device owns gets #GP and is counted. MSRs that the
 * LWK never uses hold the guest's values all the time and do not exit.
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/vm_parts.h"

typedef int (*msr_reader)(struct vcpu *vcpu, u32 msr, u64 *value);
typedef int (*msr_writer)(struct vcpu *vcpu, u32 msr, u64 value);

static int read_zero(struct vcpu *, u32, u64 *value)
{
	*value = 0;
	return 0;
}

static int write_ignored(struct vcpu *, u32, u64)
{
	return 0;
}

static int write_zero_only(struct vcpu *, u32, u64 value)
{
	return value ? -EFAULT : 0;
}

/* Read-only facts of the machine that are the same for a guest. */
static int read_host(struct vcpu *, u32 msr, u64 *value)
{
	return host_rdmsr(msr, value);
}

/*
 * IA32_ARCH_CAPABILITIES without the bits that announce an MSR the guest has
 * not (TSX_CTRL, MCU_OPT_CTRL, XAPIC_DISABLE_STATUS, ...): Linux would use it.
 */
#define ARCH_CAPABILITIES_FACTS \
	(0x7full | BIT(8) | BIT(13) | BIT(14) | BIT(15) | BIT(17) | BIT(19) | BIT(20) | BIT(24) | \
	 BIT(26) | BIT(27) | BIT(28) | BIT(62))

static int read_arch_capabilities(struct vcpu *vcpu, u32 msr, u64 *value)
{
	int err = read_host(vcpu, msr, value);

	*value &= ARCH_CAPABILITIES_FACTS;
	return err;
}

/*
 * TscFreqSel: Linux calls the firmware broken where the TSC does not count with the P0 frequency.
 */
static int read_hwcr(struct vcpu *, u32, u64 *value)
{
	*value = BIT(24);
	return 0;
}

/* The microcode revision, which every CPU has but Bochs. */
static int read_microcode(struct vcpu *vcpu, u32 msr, u64 *value)
{
	return read_host(vcpu, msr, value) ? read_zero(vcpu, msr, value) : 0;
}

static int read_tsc(struct vcpu *vcpu, u32, u64 *value)
{
	*value = vm_guest_tsc(vcpu->vm, host_tsc());
	return 0;
}

/*
 * The TSC is one clock for all vCPUs and never moves: a
 * write is kept in the virtual TSC_ADJUST only where the guest wrote that.
 */
static int read_tsc_adjust(struct vcpu *vcpu, u32, u64 *value)
{
	*value = vcpu->tsc_adjust;
	return 0;
}

static int write_tsc_adjust(struct vcpu *vcpu, u32, u64 value)
{
	vcpu->tsc_adjust = value;
	vcpu_open_tsc_adjust(vcpu);
	return 0;
}

static int read_efer(struct vcpu *vcpu, u32, u64 *value)
{
	*value = hvm->get(vcpu, HVM_EFER);
	return 0;
}

static int write_efer(struct vcpu *vcpu, u32, u64 value)
{
	u64 old = hvm->get(vcpu, HVM_EFER);

	/* LMA is read-only and follows CR0.PG; LME may not change while paging is on. */
	if (value & ~(vm_parts(vcpu->vm)->cpuid.efer_allowed | EFER_LMA))
		return -EFAULT;
	if ((old ^ value) & EFER_LME && hvm->get(vcpu, HVM_CR0) & CR0_PG)
		return -EFAULT;
	hvm->set(vcpu, HVM_EFER, (value & ~EFER_LMA) | (old & EFER_LMA));
	return 0;
}

static int read_pat(struct vcpu *vcpu, u32, u64 *value)
{
	*value = hvm->get(vcpu, HVM_PAT);
	return 0;
}

static int write_pat(struct vcpu *vcpu, u32, u64 value)
{
	if (!pat_valid(value))
		return -EFAULT;
	hvm->set(vcpu, HVM_PAT, value);
	return 0;
}

static int read_mtrr(struct vcpu *vcpu, u32 msr, u64 *value)
{
	return mtrr_read(&vm_parts(vcpu->vm)->mtrr, msr, value);
}

static int write_mtrr(struct vcpu *vcpu, u32 msr, u64 value)
{
	return mtrr_write(&vm_parts(vcpu->vm)->mtrr, msr, value, hvm_caps.phys_bits);
}

/* BTF and LBR can be set and read back, but trace nothing: block-step becomes single-step. */
static int read_debugctl(struct vcpu *vcpu, u32, u64 *value)
{
	*value = vcpu->debugctl;
	return 0;
}

static int write_debugctl(struct vcpu *vcpu, u32, u64 value)
{
	if (value & ~3ull)
		return -EFAULT;
	vcpu->debugctl = value;
	return 0;
}

static int read_xss(struct vcpu *vcpu, u32, u64 *value)
{
	*value = vcpu->xss;
	return hvm_caps.xsaves ? 0 : -EFAULT;
}

static int write_xss(struct vcpu *vcpu, u32 msr, u64 value)
{
	if (!hvm_caps.xsaves || value & ~vm_parts(vcpu->vm)->cpuid.xss_allowed ||
	    host_wrmsr(msr, value))
		return -EFAULT;
	vcpu->xss = value;
	return 0;
}

/*
 * Fast strings on, and what counters there are; branch trace and precise events unavailable (SDM
 * vol. 4, table 2-2).
 */
static int read_misc_enable(struct vcpu *vcpu, u32, u64 *value)
{
	*value = BIT(0) | BIT(11) | BIT(12);
	if (cpuid_has_counters(&vm_parts(vcpu->vm)->cpuid))
		*value |= BIT(7);
	if (vm_mwait(vcpu->vm))
		*value |= BIT(18);
	return 0;
}

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/*
 * How deep C-states go, and C1E: the package's, which a VM need not own. Drivers of Linux for MWAIT
 * take it that they are there.
 */
static int read_idle(struct vcpu *vcpu, u32 msr, u64 *value)
{
	if (!vm_mwait(vcpu->vm))
		return -EFAULT;
	return read_host(vcpu, msr, value) ? read_zero(vcpu, msr, value) : 0;
}

static int write_idle(struct vcpu *vcpu, u32, u64)
{
	return vm_mwait(vcpu->vm) ? 0 : -EFAULT;
}
#endif

/* Locked, with nothing enabled. */
static int read_feature_control(struct vcpu *, u32, u64 *value)
{
	*value = 1;
	return 0;
}

enum vendor { ANY, INTEL, AMD };

struct msr_rule {
	u32 first;
	u16 count;
	u8 vendor; /* enum vendor */
	msr_reader read; /* NULL: #GP */
	msr_writer write;
};

static const struct msr_rule rules[] = {
	{ MSR_TSC, 1, ANY, read_tsc, write_ignored },
	{ MSR_PLATFORM_ID, 1, INTEL, read_host, NULL },
	{ MSR_FEATURE_CONTROL, 1, INTEL, read_feature_control, NULL },
	{ MSR_TSC_ADJUST, 1, ANY, read_tsc_adjust, write_tsc_adjust },
	{ MSR_BIOS_UPDT_TRIG, 1, ANY, NULL, write_ignored }, /* microcode is the host's */
	{ MSR_BIOS_SIGN_ID, 1, ANY, read_microcode, write_ignored },
	{ MSR_MTRRCAP, 1, ANY, read_mtrr, NULL },
	{ MSR_ARCH_CAPABILITIES, 1, ANY, read_arch_capabilities, NULL },
	/* no banks */
	{ MSR_MCG_CAP, MSR_MCG_STATUS - MSR_MCG_CAP + 1, ANY, read_zero, write_zero_only },
#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
	{ MSR_PKG_CST_CONFIG_CONTROL, 1, INTEL, read_idle, write_idle },
	{ MSR_POWER_CTL, 1, INTEL, read_idle, write_idle },
#endif
	{ MSR_MISC_ENABLE, 1, INTEL, read_misc_enable, write_ignored },
	{ MSR_DEBUGCTL, 1, ANY, read_debugctl, write_debugctl },
	{ MSR_MTRR_PHYSBASE0, 2 * MTRR_VARIABLE, ANY, read_mtrr, write_mtrr },
	{ MSR_MTRR_FIX64K_00000, 1, ANY, read_mtrr, write_mtrr },
	{ MSR_MTRR_FIX16K_80000, MSR_MTRR_FIX16K_A0000 - MSR_MTRR_FIX16K_80000 + 1, ANY, read_mtrr,
	  write_mtrr },
	{ MSR_MTRR_FIX4K_C0000, MSR_MTRR_FIX4K_F8000 - MSR_MTRR_FIX4K_C0000 + 1, ANY, read_mtrr,
	  write_mtrr },
	{ MSR_PAT, 1, ANY, read_pat, write_pat },
	{ MSR_MTRR_DEF_TYPE, 1, ANY, read_mtrr, write_mtrr },
	{ MSR_XSS, 1, ANY, read_xss, write_xss },
	{ MSR_EFER, 1, ANY, read_efer, write_efer },
	/* on every AMD CPU: no CPUID bit could hide them */
	{ MSR_AMD_PERF_CTL0, 8, AMD, read_zero, write_ignored },
	{ MSR_AMD_SYSCFG, 1, AMD, read_zero, write_ignored },
	{ MSR_AMD_HWCR, 1, AMD, read_hwcr, write_ignored },
	{ MSR_AMD_NB_CFG, 1, AMD, read_zero, write_ignored },
	{ MSR_AMD_INT_PENDING, 1, AMD, read_zero, write_ignored },
	{ MSR_AMD_LS_CFG, 1, AMD, read_zero, write_ignored },
	{ MSR_AMD_DC_CFG, 1, AMD, read_zero, write_ignored },
	/* LFENCE serializes or not: as the host says */
	{ MSR_AMD_DE_CFG, 1, AMD, read_host, write_ignored },
	{ MSR_AMD_BU_CFG2, 1, AMD, read_zero, write_ignored },
};

static enum vendor vendor(const struct vm *vm)
{
	return vm_parts(vm)->cpuid.entry[0].regs.ebx == 0x756e6547 /* "Genu" */ ? INTEL : AMD;
}

static const struct msr_rule *find_rule(const struct vm *vm, u32 msr)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++)
		if (msr - rules[i].first < rules[i].count)
			return rules[i].vendor == ANY || rules[i].vendor == vendor(vm) ? &rules[i]
										       : NULL;
	return NULL;
}

void exit_rdmsr(struct vcpu *vcpu, const struct vmexit *exit)
{
	u32 msr = (u32)vcpu->regs.gpr[GPR_RCX];
	const struct msr_range *d = msr_find(vcpu->vm, msr);
	const struct msr_rule *r = d ? NULL : find_rule(vcpu->vm, msr);
	u64 value = 0;
	int err = -EFAULT;

	if (d)
		err = d->ops->read(d->dev, vcpu, msr, &value);
	else if (r && r->read)
		err = r->read(vcpu, msr, &value);
	else
		telemetry_count(&vcpu->stats.unknown_msrs);
	if (err) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return;
	}
	vcpu->regs.gpr[GPR_RAX] = (u32)value;
	vcpu->regs.gpr[GPR_RDX] = value >> 32;
	emulate_skip_exit(vcpu, exit);
}

void exit_wrmsr(struct vcpu *vcpu, const struct vmexit *exit)
{
	u64 *gpr = vcpu->regs.gpr;
	u32 msr = (u32)gpr[GPR_RCX];
	u64 value = gpr[GPR_RDX] << 32 | (u32)gpr[GPR_RAX];
	const struct msr_range *d = msr_find(vcpu->vm, msr);
	const struct msr_rule *r = d ? NULL : find_rule(vcpu->vm, msr);
	int err = -EFAULT;

	if (d)
		err = d->ops->write(d->dev, vcpu, msr, value);
	else if (r && r->write)
		err = r->write(vcpu, msr, value);
	else
		telemetry_count(&vcpu->stats.unknown_msrs);
	if (err) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return;
	}
	emulate_skip_exit(vcpu, exit);
}

/* Switched by the backend or never used by the LWK. */
static const u32 always_open[] = {
	MSR_SYSENTER_CS, MSR_SYSENTER_ESP, MSR_SYSENTER_EIP, MSR_STAR,    MSR_LSTAR,
	MSR_CSTAR,       MSR_SFMASK,       MSR_FS_BASE,      MSR_GS_BASE, MSR_KERNEL_GS_BASE,
};

static bool shown(struct vcpu *vcpu, u32 leaf, u32 subleaf, unsigned reg, u32 mask)
{
	struct cpuid_dynamic dyn = { 0 };
	struct cpuid_regs r;

	cpuid_get(&vm_parts(vcpu->vm)->cpuid, &dyn, leaf, subleaf, &r);
	return (&r.eax)[reg] & mask;
}

enum { EAX, EBX, ECX, EDX };

/* MSRs that exist only where one of these CPUID bits is shown. */
static const struct {
	u32 msr;
	u32 leaf;
	u32 subleaf;
	u8 reg;
	u32 mask;
} open_if_shown[] = {
	{ MSR_TSC_AUX, 0x80000001, 0, EDX, BIT(27) }, /* RDTSCP */
	{ MSR_TSC_AUX, 7, 0, ECX, BIT(22) }, /* RDPID */
	{ MSR_SPEC_CTRL, 7, 0, EDX, BIT(26) | BIT(27) | BIT(31) }, /* IBRS/IBPB, STIBP, SSBD */
	{ MSR_SPEC_CTRL, 0x80000008, 0, EBX, BIT(14) | BIT(15) | BIT(24) },
	{ MSR_PRED_CMD, 7, 0, EDX, BIT(26) },
	{ MSR_PRED_CMD, 0x80000008, 0, EBX, BIT(12) },
	{ MSR_FLUSH_CMD, 7, 0, EDX, BIT(28) }, /* L1D_FLUSH */
	{ MSR_XFD, 0xd, 1, EAX, BIT(4) },
	{ MSR_XFD_ERR, 0xd, 1, EAX, BIT(4) },
	{ MSR_UMWAIT_CONTROL, 7, 0, ECX, BIT(5) }, /* WAITPKG */
};

void msr_open_passthrough(struct vcpu *vcpu)
{
	u32 spec_ctrl = vcpu_first_spec_ctrl(vcpu);

	vcpu_open_tsc_adjust(vcpu);
	for (unsigned i = 0; i < ARRAY_SIZE(always_open); i++)
		hvm->intercept_msr(vcpu, always_open[i], false, false);
	for (unsigned i = 0; i < ARRAY_SIZE(open_if_shown); i++) {
		u32 msr = open_if_shown[i].msr;
		u64 first = 0;

		if (shown(vcpu, open_if_shown[i].leaf, open_if_shown[i].subleaf,
			  open_if_shown[i].reg, open_if_shown[i].mask))
			hvm->intercept_msr(vcpu, msr, false, false);
		else if (msr != MSR_PRED_CMD)
			continue;
		/*
		 * The CPU may hold an earlier VM's values, and its branch predictions: an IBPB ends
		 * those, whatever this guest is shown, and faults where the CPU has none.
		 */
		if (msr == MSR_SPEC_CTRL)
			first = spec_ctrl;
		else if (msr == MSR_PRED_CMD)
			first = BIT(0);
		(void)host_wrmsr(msr, first);
	}
}
