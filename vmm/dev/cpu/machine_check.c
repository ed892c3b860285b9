/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With on_mce = inject: each vCPU's bank of machine checks, and the error in it when the guest has
 * used memory that the machine has lost. Linux then gives the page up, and kills who needs it. As
 * Intel's "data load" error, action required, told to one CPU (SDM vol. 3, 16.3 and 16.9.3.2), or
 * AMD's uncorrected error (APM vol. 2, 9.3). Only the hypervisor writes errors.
 */
#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/startup.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

#define FEATURE_CONTROL_LOCKED_LMCE (BIT(0) | BIT(20))
#define ERROR_DATA_READ 0x134 /* in the same words in both manuals */
#define MISC_PAGE (2 << 6 | PAGE_SHIFT) /* a physical address, of which a page is told */

enum { CTL, STATUS, ADDR, MISC };

static bool is_intel(const struct vm *vm)
{
	return vm_parts(vm)->cpuid.entry[0].regs.ebx == 0x756e6547; /* "Genu" */
}

/* Only Intel's CPUs have these two. */
static bool is_there(const struct vcpu *vcpu, u32 msr)
{
	return is_intel(vcpu->vm) || (msr != MSR_FEATURE_CONTROL && msr != MSR_MCG_EXT_CTL);
}

static u64 *reg_of(struct vcpu *vcpu, u32 msr)
{
	struct vcpu_mce *m = &vcpu->mce;

	switch (msr) {
	case MSR_MCG_STATUS: return &m->mcg_status;
	case MSR_MCG_EXT_CTL: return &m->mcg_ext_ctl;
	case MSR_MC0_CTL + CTL: return &m->ctl;
	case MSR_MC0_CTL + STATUS: return &m->status;
	case MSR_MC0_CTL + ADDR: return &m->address;
	default: return NULL;
	}
}

static int mce_read(void *, struct vcpu *vcpu, u32 msr, u64 *value)
{
	const u64 *reg = reg_of(vcpu, msr);

	if (!is_there(vcpu, msr))
		return -EFAULT;
	if (reg)
		*value = *reg;
	else if (msr == MSR_MCG_CAP)
		*value = 1 | (is_intel(vcpu->vm) ? MCG_CAP_SER | MCG_CAP_LMCE : 0); /* one bank */
	else if (msr == MSR_FEATURE_CONTROL)
		*value = FEATURE_CONTROL_LOCKED_LMCE;
	else
		*value = vcpu->mce.status & MCI_STATUS_MISCV ? MISC_PAGE : 0;
	return 0;
}

/* Bits that may be 1. */
static u64 writable(const struct vcpu *vcpu, u32 msr)
{
	switch (msr) {
	case MSR_MC0_CTL + CTL: return ~0ull;
	case MSR_MCG_EXT_CTL: return MCG_EXT_CTL_LMCE;
	case MSR_MCG_STATUS: return vcpu->mce.mcg_status;
	default: return 0;
	}
}

/* Errors are only cleared (16.3.2.2 to 16.3.2.4). */
static int mce_write(void *, struct vcpu *vcpu, u32 msr, u64 value)
{
	u64 *reg = reg_of(vcpu, msr);

	if (!is_there(vcpu, msr) || msr == MSR_MCG_CAP || msr == MSR_FEATURE_CONTROL ||
	    value & ~writable(vcpu, msr))
		return -EFAULT;
	if (reg)
		*reg = value;
	return 0;
}

static const struct msr_ops mce_ops = { .read = mce_read, .write = mce_write };

static bool mce_tell(struct vcpu *vcpu, u64 page)
{
	struct vcpu_mce *m = &vcpu->mce;
	bool intel = is_intel(vcpu->vm), one = m->mcg_ext_ctl;
	u64 at;

	if (vcpu->vm->config->on_mce != ON_MCE_INJECT || page == HOST_LOST_UNKNOWN ||
	    !gpa_map_of_host(&vm_parts(vcpu->vm)->map, page & ~(PAGE_SIZE - 1), &at))
		return false;
	/*
	 * Where it is not for one CPU, Intel's are told to all of them, which wait for each other.
	 */
	if (!(hvm->get(vcpu, HVM_CR4) & CR4_MCE) || m->mcg_status & MCG_STATUS_MCIP ||
	    (intel && !one && vcpu->vm->nr_vcpus > 1))
		return false;
	m->status = MCI_STATUS_VAL | MCI_STATUS_UC | MCI_STATUS_EN | MCI_STATUS_ADDRV |
		    ERROR_DATA_READ | (intel ? MCI_STATUS_MISCV | MCI_STATUS_S | MCI_STATUS_AR : 0);
	m->address = at;
	m->mcg_status = (page & (MCG_STATUS_RIPV | MCG_STATUS_EIPV)) | MCG_STATUS_MCIP |
			(one ? MCG_STATUS_LMCE : 0);
	vcpu->mce_due = true;
	vcpu_look(vcpu);
	if (vm_tells_lost(vcpu->vm, page & ~(PAGE_SIZE - 1)))
		vm_tell(vcpu->vm,
			"vcpu%u: has used memory that the machine has lost, at GPA %#lx: told by #MC",
			vcpu->id, at);
	return true;
}

/* It ends HLT, too. */
static bool mce_look(struct vcpu *vcpu)
{
	if (!vcpu->mce_due || !vcpu_has_started(vcpu))
		return false;
	vcpu->mce_due = vcpu->halted = false;
	vcpu_raise(vcpu, VEC_MC);
	return false;
}

static const struct vcpu_look due_look = { .at = LOOK_MACHINE_CHECK, .look = mce_look };
VCPU_LOOK(due_look);

static int mce_create(struct vm *vm, void **)
{
	static const u32 msrs[][2] = {
		{ MSR_FEATURE_CONTROL, MSR_FEATURE_CONTROL },
		{ MSR_MCG_CAP, MSR_MCG_STATUS },
		{ MSR_MC0_CTL, MSR_MC0_CTL + MISC },
		{ MSR_MCG_EXT_CTL, MSR_MCG_EXT_CTL },
	};
	int err = 0;

	if (vm->config->on_mce != ON_MCE_INJECT)
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(msrs) && !err; i++)
		err = vm_register_msr(vm, msrs[i][0], msrs[i][1], &mce_ops, NULL);
	return err;
}

static const struct vdev_calls mce_calls = { .machine_check = mce_tell };
static const struct vdev mce_vdev = { .create = mce_create, .calls = &mce_calls };
VDEV(mce_vdev);
