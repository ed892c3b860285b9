/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest state in the VMCS (SDM vol. 3, 25.4): registers as the guest sees
 * them, segments.
 */
#include "arch/x86_64/cpu/insn.h"
#include "vmm/vmx/vmx.h"

/* Registers that are one VMCS field; 0: not so. */
static const u16 field[HVM_REGS] = {
	[HVM_CR3] = VMCS_GUEST_CR3,
	[HVM_EFER] = VMCS_GUEST_EFER,
	[HVM_PAT] = VMCS_GUEST_PAT,
	[HVM_DR7] = VMCS_GUEST_DR7,
	[HVM_SYSENTER_CS] = VMCS_GUEST_SYSENTER_CS,
	[HVM_SYSENTER_ESP] = VMCS_GUEST_SYSENTER_ESP,
	[HVM_SYSENTER_EIP] = VMCS_GUEST_SYSENTER_EIP,
	[HVM_FS_BASE] = VMCS_GUEST_BASE + 2 * SEG_FS,
	[HVM_GS_BASE] = VMCS_GUEST_BASE + 2 * SEG_GS,
};

/* Registers that the LWK leaves to the guest all the time. */
static const u32 msr[HVM_REGS] = {
	[HVM_KERNEL_GS_BASE] = MSR_KERNEL_GS_BASE,
	[HVM_STAR] = MSR_STAR,
	[HVM_LSTAR] = MSR_LSTAR,
	[HVM_CSTAR] = MSR_CSTAR,
	[HVM_SFMASK] = MSR_SFMASK,
	[HVM_TSC_AUX] = MSR_TSC_AUX,
};

u64 vmx_get(struct vcpu *vcpu, enum hvm_reg reg)
{
	u64 mask;

	switch (reg) {
	case HVM_CR0: /* host-owned bits are read from the shadow */
		mask = vmread(VMCS_CR0_MASK);
		return (vmread(VMCS_GUEST_CR0) & ~mask) | (vmread(VMCS_CR0_SHADOW) & mask);
	case HVM_CR4:
		mask = vmread(VMCS_CR4_MASK);
		return (vmread(VMCS_GUEST_CR4) & ~mask) | (vmread(VMCS_CR4_SHADOW) & mask);
	case HVM_CR2: /* the LWK's own page faults are its end */ return read_cr2();
	case HVM_DR0 ... HVM_DR3: return read_dr(reg - HVM_DR0);
	case HVM_DR6: return read_dr6();
	case HVM_NMI_BLOCKED: return (vmx_vcpu(vcpu)->interruptibility & INTERRUPTIBILITY_NMI) != 0;
	default: return field[reg] ? vmread(field[reg]) : rdmsr(msr[reg]);
	}
}

/*
 * With PAE paging the CPU takes the directory pointers from here; an entry refuses some (SDM vol.
 * 3, 27.3.1.6, 27.3.2.4).
 */
void vmx_set_pdptes(struct vcpu *, const u64 pdptes[4])
{
	for (unsigned i = 0; i < 4; i++)
		vmwrite(VMCS_GUEST_PDPTE0 + 2 * i, pdptes[i]);
}

void vmx_set_interruptibility(struct vmx_vcpu *x, u64 value)
{
	x->interruptibility = value;
	vmwrite(VMCS_GUEST_INTERRUPTIBILITY, value);
}

void vmx_set(struct vcpu *vcpu, enum hvm_reg reg, u64 value)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);

	switch (reg) {
	case HVM_CR0:
		/*
		 * Caches stay on whatever the guest says; NE is fixed; PE and PG are free
		 * (unrestricted guest).
		 */
		vmwrite(VMCS_CR0_SHADOW, value);
		vmwrite(VMCS_GUEST_CR0, (value & ~(CR0_CD | CR0_NW)) |
						(vmx_controls.cr0_fixed0 & ~(CR0_PE | CR0_PG)) |
						CR0_ET);
		vmx_flush_linear(vcpu);
		break;
	case HVM_CR4:
		vmwrite(VMCS_CR4_SHADOW, value);
		/* Machine checks must reach the exception bitmap, not shut the CPU down. */
		vmwrite(VMCS_GUEST_CR4, value | vmx_controls.cr4_fixed0 | CR4_MCE);
		vmx_flush_linear(vcpu);
		break;
	case HVM_CR3:
		vmwrite(VMCS_GUEST_CR3, value);
		vmx_flush_linear(vcpu);
		break;
	case HVM_EFER:
		vmwrite(VMCS_GUEST_EFER, value);
		vmwrite(VMCS_ENTRY_CONTROLS,
			(vmread(VMCS_ENTRY_CONTROLS) & ~(u64)ENTRY_IA32E_GUEST) |
				(value & EFER_LMA ? ENTRY_IA32E_GUEST : 0u));
		break;
	case HVM_CR2: write_cr2(value); break;
	case HVM_DR0 ... HVM_DR3: write_dr(reg - HVM_DR0, value); break;
	case HVM_DR6: write_dr6(value); break;
	case HVM_NMI_BLOCKED:
		vmx_set_interruptibility(x,
					 value ? x->interruptibility | INTERRUPTIBILITY_NMI
					       : x->interruptibility & ~(u64)INTERRUPTIBILITY_NMI);
		break;
	default:
		if (field[reg])
			vmwrite(field[reg], value);
		else
			wrmsr(msr[reg], value);
	}
}

void vmx_get_segment(struct vcpu *, enum seg seg, struct segment *out)
{
	*out = (struct segment){
		.selector = (u16)vmread(VMCS_GUEST_SELECTOR + 2 * seg),
		.attr = (u32)vmread(VMCS_GUEST_ATTR + 2 * seg),
		.limit = (u32)vmread(VMCS_GUEST_LIMIT + 2 * seg),
		.base = vmread(VMCS_GUEST_BASE + 2 * seg),
	};
}

void vmx_get_context(struct vcpu *vcpu, struct hvm_context *out)
{
	*out = (struct hvm_context){
		.cr0 = vmx_get(vcpu, HVM_CR0),
		.cr3 = vmread(VMCS_GUEST_CR3),
		.cr4 = vmx_get(vcpu, HVM_CR4),
		.efer = vmread(VMCS_GUEST_EFER),
		.cs_base = vmread(VMCS_GUEST_BASE + 2 * SEG_CS),
		.cs_attr = (u32)vmread(VMCS_GUEST_ATTR + 2 * SEG_CS),
		.cpl = vmread(VMCS_GUEST_ATTR + 2 * SEG_SS) >> SEG_ATTR_DPL_SHIFT & 3,
	};
}

void vmx_set_segment(struct vcpu *, enum seg seg, const struct segment *in)
{
	vmwrite(VMCS_GUEST_SELECTOR + 2 * seg, in->selector);
	vmwrite(VMCS_GUEST_ATTR + 2 * seg, in->attr);
	vmwrite(VMCS_GUEST_LIMIT + 2 * seg, in->limit);
	vmwrite(VMCS_GUEST_BASE + 2 * seg, in->base);
}

void vmx_set_desc_table(struct vcpu *, bool idt, const struct desc_table *in)
{
	vmwrite(idt ? VMCS_GUEST_IDTR_BASE : VMCS_GUEST_GDTR_BASE, in->base);
	vmwrite(idt ? VMCS_GUEST_IDTR_LIMIT : VMCS_GUEST_GDTR_LIMIT, in->limit);
}

void vmx_get_desc_table(struct vcpu *, bool idt, struct desc_table *out)
{
	out->base = vmread(idt ? VMCS_GUEST_IDTR_BASE : VMCS_GUEST_GDTR_BASE);
	out->limit = (u16)vmread(idt ? VMCS_GUEST_IDTR_LIMIT : VMCS_GUEST_GDTR_LIMIT);
}

void vmx_vcpu_reset(struct vcpu *vcpu)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);

	vmx_set_interruptibility(x, 0);
	vmwrite(VMCS_GUEST_ACTIVITY, 0);
	vmwrite(VMCS_GUEST_PENDING_DEBUG, 0);
	vmwrite(VMCS_GUEST_DEBUGCTL, 0);
	/* Not what run() compares with: everything is written at the first entry. */
	x->rsp = x->rflags = ~0ull;
}
