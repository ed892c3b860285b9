/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest state in the VMCB's save area (APM vol. 2, table B-2): registers, segments. */
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "vmm/svm/svm.h"

/* Offsets of the registers that are one field; 0: not so. */
static const u16 field[HVM_REGS] = {
	[HVM_CR2] = offsetof(struct vmcb, cr2),
	[HVM_CR3] = offsetof(struct vmcb, cr3),
	[HVM_PAT] = offsetof(struct vmcb, g_pat),
	[HVM_DR6] = offsetof(struct vmcb, dr6),
	[HVM_DR7] = offsetof(struct vmcb, dr7),
	[HVM_SYSENTER_CS] = offsetof(struct vmcb, sysenter_cs),
	[HVM_SYSENTER_ESP] = offsetof(struct vmcb, sysenter_esp),
	[HVM_SYSENTER_EIP] = offsetof(struct vmcb, sysenter_eip),
	[HVM_FS_BASE] = offsetof(struct vmcb, fs.base),
	[HVM_GS_BASE] = offsetof(struct vmcb, gs.base),
	[HVM_KERNEL_GS_BASE] = offsetof(struct vmcb, kernel_gs_base),
	[HVM_STAR] = offsetof(struct vmcb, star),
	[HVM_LSTAR] = offsetof(struct vmcb, lstar),
	[HVM_CSTAR] = offsetof(struct vmcb, cstar),
	[HVM_SFMASK] = offsetof(struct vmcb, sfmask),
};

static u64 *at(struct vmcb *v, enum hvm_reg reg)
{
	return (u64 *)((u8 *)v + field[reg]);
}

u64 svm_get(struct vcpu *vcpu, enum hvm_reg reg)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);

	switch (reg) {
	case HVM_CR0: return s->vmcb->cr0 | s->cr0_cache;
	case HVM_CR4: return (s->vmcb->cr4 & ~CR4_MCE) | s->cr4_mce;
	case HVM_EFER: return s->vmcb->efer & ~EFER_SVME;
	case HVM_DR0 ... HVM_DR3: return read_dr(reg - HVM_DR0);
	case HVM_TSC_AUX: return rdmsr(MSR_TSC_AUX);
	case HVM_NMI_BLOCKED: return s->nmi_blocked;
	default: return *at(s->vmcb, reg);
	}
}

/* CR0 and CR4 as the CPU shall run with them; the guest reads what it wrote. */
static void set_shadowed(struct svm_vcpu *s, enum hvm_reg reg, u64 value)
{
	if (reg == HVM_CR0) {
		s->cr0_cache = value & (CR0_CD | CR0_NW);
		s->vmcb->cr0 = value & ~(CR0_CD | CR0_NW);
	} else {
		s->cr4_mce = value & CR4_MCE;
		s->vmcb->cr4 = value | CR4_MCE;
	}
	/* TCG looks at CR0's bit for a read of any: a hidden CR4 bit takes both. */
	s->vmcb->intercept_cr_read =
		(u16)((s->vmcb->v_intr & SVM_V_INTR_MASKING ? BIT(8) : 0) |
		      (s->cr0_cache || !s->cr4_mce ? BIT(0) : 0) | (s->cr4_mce ? 0 : BIT(4)));
}

void svm_set(struct vcpu *vcpu, enum hvm_reg reg, u64 value)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);

	switch (reg) {
	case HVM_CR0:
	case HVM_CR4: set_shadowed(s, reg, value); break;
	case HVM_EFER:
		s->vmcb->efer = value | EFER_SVME; /* VMRUN insists */
		break;
	case HVM_DR0 ... HVM_DR3: write_dr(reg - HVM_DR0, value); return;
	case HVM_DR7:
		s->vmcb->dr7 = value;
		/*
		 * TCG looks for the breakpoints that a MOV to DR7 has told it of, in the host, too:
		 * never for the guest's own.
		 */
		if (cpu_features.tcg && vcpu_is_debugged(vcpu))
			asm volatile("mov %0, %%dr7" : : "r"(value & ~BIT(13)));
		return;
	case HVM_TSC_AUX: wrmsr(MSR_TSC_AUX, value); return;
	case HVM_NMI_BLOCKED: s->nmi_blocked = value; return;
	default: *at(s->vmcb, reg) = value;
	}
	/*
	 * An intercepted control-register write must flush what the instruction would have flushed.
	 */
	if (reg == HVM_CR0 || reg == HVM_CR3 || reg == HVM_CR4 || reg == HVM_EFER)
		svm_new_asid(s->vmcb);
}

static struct vmcb_segment *segment(struct vmcb *v, enum seg seg)
{
	static const u16 offset[SEG_COUNT] = {
		[SEG_ES] = offsetof(struct vmcb, es),     [SEG_CS] = offsetof(struct vmcb, cs),
		[SEG_SS] = offsetof(struct vmcb, ss),     [SEG_DS] = offsetof(struct vmcb, ds),
		[SEG_FS] = offsetof(struct vmcb, fs),     [SEG_GS] = offsetof(struct vmcb, gs),
		[SEG_LDTR] = offsetof(struct vmcb, ldtr), [SEG_TR] = offsetof(struct vmcb, tr),
	};

	return (struct vmcb_segment *)((u8 *)v + offset[seg]);
}

/* The VMCB packs the attributes: bits 7:0 as in VMX, AVL, L, D/B, G follow at once. */
void svm_get_segment(struct vcpu *vcpu, enum seg seg, struct segment *out)
{
	const struct vmcb *v = svm_vcpu(vcpu)->vmcb;
	const struct vmcb_segment *s = segment(svm_vcpu(vcpu)->vmcb, seg);
	u32 attr = (s->attr & 0xffu) | (s->attr & 0xf00u) << 4;

	/* SS need not hold the privilege level (APM vol. 2, 15.5.1), the CPL field does. */
	if (seg == SEG_SS)
		attr = (attr & ~(3u << SEG_ATTR_DPL_SHIFT)) | (u32)(v->cpl & 3)
								      << SEG_ATTR_DPL_SHIFT;
	if (!(attr & SEG_ATTR_P))
		attr |= SEG_ATTR_UNUSABLE;
	*out = (struct segment){
		.selector = s->selector, .attr = attr, .limit = s->limit, .base = s->base
	};
}

void svm_get_context(struct vcpu *vcpu, struct hvm_context *out)
{
	const struct svm_vcpu *s = svm_vcpu(vcpu);
	const struct vmcb *v = s->vmcb;

	*out = (struct hvm_context){
		.cr0 = v->cr0 | s->cr0_cache,
		.cr3 = v->cr3,
		.cr4 = (v->cr4 & ~CR4_MCE) | s->cr4_mce,
		.efer = v->efer & ~EFER_SVME,
		.cs_base = v->cs.base,
		.cs_attr = (v->cs.attr & 0xffu) | (v->cs.attr & 0xf00u) << 4,
		.cpl = v->cpl & 3,
	};
}

void svm_set_segment(struct vcpu *vcpu, enum seg seg, const struct segment *in)
{
	struct vmcb *v = svm_vcpu(vcpu)->vmcb;
	u32 attr = in->attr & SEG_ATTR_UNUSABLE ? 0 : in->attr;

	*segment(v, seg) = (struct vmcb_segment){
		.selector = in->selector,
		.attr = (u16)((attr & 0xff) | (attr >> 4 & 0xf00)),
		.limit = in->limit,
		.base = in->base,
	};
	if (seg == SEG_SS)
		v->cpl = (u8)(attr >> SEG_ATTR_DPL_SHIFT & 3);
}

void svm_set_desc_table(struct vcpu *vcpu, bool idt, const struct desc_table *in)
{
	struct vmcb *v = svm_vcpu(vcpu)->vmcb;

	*(idt ? &v->idtr : &v->gdtr) =
		(struct vmcb_segment){ .limit = in->limit, .base = in->base };
}

void svm_get_desc_table(struct vcpu *vcpu, bool idt, struct desc_table *out)
{
	const struct vmcb *v = svm_vcpu(vcpu)->vmcb;
	const struct vmcb_segment *s = idt ? &v->idtr : &v->gdtr;

	*out = (struct desc_table){ .base = s->base, .limit = (u16)s->limit };
}

void svm_vcpu_reset(struct vcpu *vcpu)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);

	s->vmcb->event_inj = 0;
	s->vmcb->spec_ctrl = 0;
	s->stepping = false;
}
