/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The short way of a VT-x guest's exits (vmm/emulate/lean.h), from the exit's entry in
 * run.asm and back into the guest. Of the VMCS it reads what it needs; what
 * run.c reads of each exit is read only when this leaves the loop.
 */
#include "vmm/emulate/lean.h"
#include "vmm/vmx/vmx.h"

/* May the instruction just be stepped over? Not with these flags. Its RIP is noted. */
static inline bool may_unless(struct vcpu *vcpu, u64 flags)
{
	vcpu->regs.rip = vmread(VMCS_GUEST_RIP);
	return lean_may(vcpu, vcpu->regs.rip) &&
	       likely(!((flags & LEAN_NOT_RFLAGS) |
			(vmread(VMCS_GUEST_INTERRUPTIBILITY) & INTERRUPTIBILITY_SHADOW)));
}

static inline bool may(struct vcpu *vcpu)
{
	return may_unless(vcpu, vmread(VMCS_GUEST_RFLAGS));
}

static inline int done_at(struct vcpu *vcpu, u64 len, enum vmexit_reason reason, u32 code)
{
	u64 rip = vcpu->regs.rip;

	vmwrite_rip(rip + len);
	lean_done(vcpu, reason, code, rip);
	return lean_must_look(vcpu) ? VMX_ENTRY_DONE : VMX_AGAIN;
}

static inline int done(struct vcpu *vcpu, enum vmexit_reason reason, u32 code)
{
	return done_at(vcpu, vmread(VMCS_EXIT_INSN_LEN), reason, code);
}

static noinline int device_port(struct vcpu *vcpu, u64 q)
{
	emulate_port(vcpu, (u16)(q >> 16), (unsigned)(q & 7) + 1, q & BIT(3),
		     &vcpu->regs.gpr[GPR_RAX]);
	return done(vcpu, VMEXIT_IO, VMX_EXIT_IO);
}

static noinline int port(struct vcpu *vcpu)
{
	u64 q = vmread(VMCS_EXIT_QUALIFICATION);

	/* String instructions, and breakpoints that may be on ports. */
	if (!may(vcpu) || q & BIT(4) || vmread(VMCS_GUEST_DR7) & DR7_ENABLED)
		return VMX_ENTERED;
	if (!lean_no_port(vcpu, (u16)(q >> 16), (unsigned)(q & 7) + 1, q & BIT(3),
			  &vcpu->regs.gpr[GPR_RAX]))
		return device_port(vcpu, q);
	return done(vcpu, VMEXIT_IO, VMX_EXIT_IO);
}

static noinline int cpuid_exit(struct vcpu *vcpu)
{
	return may(vcpu) && lean_cpuid(vcpu, &vcpu->regs.gpr[GPR_RAX])
		       ? done(vcpu, VMEXIT_CPUID, VMX_EXIT_CPUID)
		       : VMX_ENTERED;
}

static noinline int hypercall(struct vcpu *vcpu)
{
	unsigned cpl = vmread(VMCS_GUEST_ATTR + 2 * SEG_SS) >> SEG_ATTR_DPL_SHIFT & 3;

	return may(vcpu) && lean_hypercall(&vcpu->regs.gpr[GPR_RAX], cpl)
		       ? done(vcpu, VMEXIT_HYPERCALL, VMX_EXIT_VMCALL)
		       : VMX_ENTERED;
}

static noinline int rdmsr_device(struct vcpu *vcpu)
{
	return lean_rdmsr(vcpu, &vcpu->regs.gpr[GPR_RAX]) ? done(vcpu, VMEXIT_RDMSR, VMX_EXIT_RDMSR)
							  : VMX_ENTERED;
}

static noinline int rdmsr_exit(struct vcpu *vcpu)
{
	if (!may(vcpu))
		return VMX_ENTERED;
	return lean_rdmsr_base(vcpu, &vcpu->regs.gpr[GPR_RAX])
		       ? done(vcpu, VMEXIT_RDMSR, VMX_EXIT_RDMSR)
		       : rdmsr_device(vcpu);
}

static noinline int wrmsr_exit(struct vcpu *vcpu)
{
	return may(vcpu) && lean_wrmsr(vcpu, vcpu->regs.gpr[GPR_RAX])
		       ? done(vcpu, VMEXIT_WRMSR, VMX_EXIT_WRMSR)
		       : VMX_ENTERED;
}

/* What fetching code depends on. All of it is the guest's own: no shadow has another value. */
#define FETCH_CR0 (CR0_PE | CR0_WP | CR0_PG)
static_assert(!(FETCH_CR0 & VMX_CR0_MASK), "the guest's bits");

/* As vmx_get_context() has it, is it what vcpu->fetched is of, in 64-bit mode? */
static inline bool same_context(const struct vcpu *vcpu)
{
	const struct hvm_context *c = &vcpu->fetched.context;
	u64 cr0 = (vmread(VMCS_GUEST_CR0) ^ c->cr0) & FETCH_CR0;
	u64 mask4 = vmread(VMCS_CR4_MASK),
	    cr4 = (vmread(VMCS_GUEST_CR4) & ~mask4) | (vmread(VMCS_CR4_SHADOW) & mask4);
	u64 cpl = vmread(VMCS_GUEST_ATTR + 2 * SEG_SS) >> SEG_ATTR_DPL_SHIFT & 3,
	    efer = vmread(VMCS_GUEST_EFER);

	return !(cr0 | (cr4 ^ c->cr4) | (vmread(VMCS_GUEST_CR3) ^ c->cr3) | (efer ^ c->efer) |
		 (cpl ^ c->cpl)) &&
	       efer & EFER_LMA && vmread(VMCS_GUEST_ATTR + 2 * SEG_CS) & SEG_ATTR_L;
}

/*
 * Stage-2 exits, but for those in the guest's tables, by fetching code, or by delivering an event.
 */
static noinline int mmio(struct vcpu *vcpu)
{
	u64 q = vmread(VMCS_EXIT_QUALIFICATION), flags = vmread(VMCS_GUEST_RFLAGS);
	unsigned len;

	if (!may_unless(vcpu, flags & ~RFLAGS_RF) || q & (EPT_QUAL_FETCH | INTR_NMI_UNBLOCKED) ||
	    (q & EPT_QUAL_LINEAR_VALID && !(q & EPT_QUAL_FINAL)) ||
	    vmread(VMCS_IDT_VECTORING_INFO) & INTR_VALID || vmread(VMCS_GUEST_DR7) & DR7_ENABLED ||
	    !same_context(vcpu))
		return VMX_ENTERED;
	len = lean_mmio(vcpu, gpa(vmread(VMCS_GUEST_PHYSICAL_ADDRESS)), q & EPT_QUAL_WRITE);
	if (!len)
		return VMX_ENTERED;
	/* The exit has set it; it covers one instruction. */
	if (flags & RFLAGS_RF)
		vmwrite(VMCS_GUEST_RFLAGS, flags & ~RFLAGS_RF);
	return done_at(vcpu, len, VMEXIT_STAGE2, VMX_EXIT_EPT_VIOLATION);
}

/*
 * Those that are met most come first. None of these calls anything but at its end, where it can be
 * helped: no stack frame.
 */
int vmx_lean(struct guest_regs *regs)
{
	struct vcpu *vcpu = container_of(regs, struct vcpu, regs);
	u32 reason = (u32)vmread(VMCS_EXIT_REASON);

	if (reason == VMX_EXIT_WRMSR)
		return wrmsr_exit(vcpu);
	if (reason == VMX_EXIT_CPUID)
		return cpuid_exit(vcpu);
	if (reason == VMX_EXIT_IO)
		return port(vcpu);
	if (reason == VMX_EXIT_EPT_VIOLATION)
		return mmio(vcpu);
	if (reason == VMX_EXIT_RDMSR)
		return rdmsr_exit(vcpu);
	if (reason == VMX_EXIT_VMCALL)
		return hypercall(vcpu);
	return VMX_ENTERED;
}
