/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUID and XSETBV exits: the policy table applied to a vCPU's present state. */
#include "vmm/emulate/emulate.h"
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/vm_parts.h"

static void answer(struct vcpu *vcpu, const struct vmexit *exit, const struct cpuid_regs *r)
{
	u64 *gpr = vcpu->regs.gpr;

	gpr[GPR_RAX] = r->eax;
	gpr[GPR_RBX] = r->ebx;
	gpr[GPR_RCX] = r->ecx;
	gpr[GPR_RDX] = r->edx;
	emulate_skip_exit(vcpu, exit);
}

static noinline void look_up(struct vcpu *vcpu, const struct vmexit *exit)
{
	struct cpuid_regs found;
	struct cpuid_dynamic dyn = {
		.apic_id = vcpu->apic_id,
		.cr4 = hvm->get(vcpu, HVM_CR4),
		.xcr0 = vcpu->xcr0,
		.xss = vcpu->xss,
		.apic_enabled = vcpu->apic_base & APIC_BASE_EN,
	};

	cpuid_get(&vm_parts(vcpu->vm)->cpuid, &dyn, (u32)vcpu->regs.gpr[GPR_RAX],
		  (u32)vcpu->regs.gpr[GPR_RCX], &found);
	answer(vcpu, exit, &found);
}

void exit_cpuid(struct vcpu *vcpu, const struct vmexit *exit)
{
	const struct cpuid_regs *r =
		cpuid_policy_plain(&vm_parts(vcpu->vm)->cpuid, (u32)vcpu->regs.gpr[GPR_RAX]);

	if (r)
		answer(vcpu, exit, r);
	else
		look_up(vcpu, exit);
}

void exit_xsetbv(struct vcpu *vcpu, const struct vmexit *exit)
{
	u64 *gpr = vcpu->regs.gpr;
	u64 value = (gpr[GPR_RDX] << 32) | (u32)gpr[GPR_RAX];
	struct segment ss;

	/*
	 * VT-x has checked CR4.OSXSAVE and the CPL before the exit (SDM vol. 3, 26.1.1), TCG's SVM
	 * has not.
	 */
	if (!(hvm->get(vcpu, HVM_CR4) & CR4_OSXSAVE)) {
		vcpu_raise(vcpu, VEC_UD);
		return;
	}
	hvm->get_segment(vcpu, SEG_SS, &ss);
	if (ss.attr >> SEG_ATTR_DPL_SHIFT & 3 || (u32)gpr[GPR_RCX] != 0 ||
	    !cpuid_policy_xcr0_valid(&vm_parts(vcpu->vm)->cpuid, value) || host_xsetbv(0, value)) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return;
	}
	vcpu->xcr0 = value;
	emulate_skip_exit(vcpu, exit);
}
