/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control-register accesses that exit: CR0 and CR4 writes that touch a bit
 * the host owns or that the guest may not have, CR8 always (SDM vol. 3, 2.5,
 * 4.1.2, 10.8.6). Other vendors' and modes' rules are the CPU's own business.
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/vm/intc.h"
#include "vmm/vm_parts.h"

/*
 * What a write that loads the PAE page-directory pointers does beside itself, with the registers as
 * they will be. A reserved bit in a present one is #GP, false; loaded, it would fail a VT-x entry.
 * They are read once: other vCPUs may change them.
 */
static bool load_pdptes(struct vcpu *vcpu, u64 cr0, u64 cr4, u64 efer)
{
	u64 reserved = ~(BIT(vm_parts(vcpu->vm)->cpuid.phys_bits) - 1) | 0x1e6, pdptes[4];

	if (!(cr0 & CR0_PG) || !(cr4 & CR4_PAE) || efer & EFER_LMA)
		return true;
	vcpu_read_pdptes(vcpu, hvm->get(vcpu, HVM_CR3), pdptes);
	for (unsigned i = 0; i < ARRAY_SIZE(pdptes); i++)
		if (pdptes[i] & PTE_P && pdptes[i] & reserved)
			return false;
	if (hvm->set_pdptes)
		hvm->set_pdptes(vcpu, pdptes);
	return true;
}

static int write_cr0(struct vcpu *vcpu, u64 value)
{
	u64 old = hvm->get(vcpu, HVM_CR0), cr4 = hvm->get(vcpu, HVM_CR4),
	    efer = hvm->get(vcpu, HVM_EFER);
	struct segment cs;

	hvm->get_segment(vcpu, SEG_CS, &cs);
	if (value >> 32 || (value & CR0_PG && !(value & CR0_PE)) ||
	    (value & CR0_NW && !(value & CR0_CD)))
		return -EINVAL;
	value = (value & CR0_KNOWN) | CR0_ET;
	if (value & CR0_PG && !(old & CR0_PG) && efer & EFER_LME) {
		if (!(cr4 & CR4_PAE) || cs.attr & SEG_ATTR_L)
			return -EINVAL;
		efer |= EFER_LMA;
	} else if (!(value & CR0_PG) && old & CR0_PG) {
		if (cr4 & CR4_PCIDE || (efer & EFER_LMA && cs.attr & SEG_ATTR_L))
			return -EINVAL;
		efer &= ~EFER_LMA;
	}
	if ((old ^ value) & CR0_LOADS_PDPTES && !load_pdptes(vcpu, value, cr4, efer))
		return -EINVAL;
	hvm->set(vcpu, HVM_EFER, efer);
	hvm->set(vcpu, HVM_CR0, value);
	return 0;
}

static int write_cr4(struct vcpu *vcpu, u64 value)
{
	u64 old = hvm->get(vcpu, HVM_CR4);
	bool lma = hvm->get(vcpu, HVM_EFER) & EFER_LMA;

	if (value & ~vm_parts(vcpu->vm)->cpuid.cr4_allowed)
		return -EINVAL;
	if (lma && !(value & CR4_PAE))
		return -EINVAL;
	if (value & CR4_PCIDE && !(old & CR4_PCIDE) && (!lma || hvm->get(vcpu, HVM_CR3) & 0xfff))
		return -EINVAL;
	if ((old ^ value) & CR4_LOADS_PDPTES &&
	    !load_pdptes(vcpu, hvm->get(vcpu, HVM_CR0), value, hvm->get(vcpu, HVM_EFER)))
		return -EINVAL;
	hvm->set(vcpu, HVM_CR4, value);
	return 0;
}

static int write_cr(struct vcpu *vcpu, unsigned cr, u64 value)
{
	switch (cr) {
	case 0: return write_cr0(vcpu, value);
	case 4: return write_cr4(vcpu, value);
	case 8:
		if (value >> 4)
			return -EINVAL;
		vcpu->vm->intc->set_cr8(vcpu, value);
		return 0;
	default: return -ENOSYS;
	}
}

static int read_cr(struct vcpu *vcpu, unsigned cr, u64 *value)
{
	switch (cr) {
	case 0: *value = hvm->get(vcpu, HVM_CR0); return 0;
	case 2: *value = hvm->get(vcpu, HVM_CR2); return 0;
	case 3: *value = hvm->get(vcpu, HVM_CR3); return 0;
	case 4: *value = hvm->get(vcpu, HVM_CR4); return 0;
	case 8: *value = vcpu->vm->intc->get_cr8(vcpu); return 0;
	default: return -ENOSYS;
	}
}

/* Carries out one access. 0, -EINVAL: #GP, -ENOSYS: a register that never exits. */
static int access_cr(struct vcpu *vcpu, const struct vmexit *exit, unsigned gpr)
{
	u64 cr0 = hvm->get(vcpu, HVM_CR0), value;
	int err;

	switch (exit->cr.kind) {
	case CR_CLTS: return write_cr0(vcpu, cr0 & ~CR0_TS);
	case CR_LMSW: /* loads PE, MP, EM, TS; cannot clear PE */
		return write_cr0(vcpu,
				 (cr0 & ~(CR0_MP | CR0_EM | CR0_TS)) |
					 (exit->cr.lmsw & (CR0_PE | CR0_MP | CR0_EM | CR0_TS)));
	case CR_MOV: break;
	}
	if (exit->cr.write) {
		struct segment cs;

		value = vcpu->regs.gpr[gpr];
		hvm->get_segment(vcpu, SEG_CS, &cs);
		/*
		 * Outside 64-bit mode, as in compatibility mode, the operand has 32 bits; the rest
		 * of the GPR is not defined.
		 */
		if (!(hvm->get(vcpu, HVM_EFER) & EFER_LMA && cs.attr & SEG_ATTR_L))
			value = (u32)value;
		return write_cr(vcpu, exit->cr.cr, value);
	}
	err = read_cr(vcpu, exit->cr.cr, &value);
	if (!err)
		vcpu->regs.gpr[gpr] = value;
	return err;
}

enum { DONE = 1 };

/*
 * The machine status word, CR0: a register, or 16 bits of memory; UMIP keeps it from ring 3 (SDM
 * vol. 2, SMSW).
 */
static int store_msw(struct vcpu *vcpu, const struct insn *insn, const struct hvm_context *c)
{
	if (c->cpl && c->cr4 & CR4_UMIP)
		return -EINVAL;
	if (insn->mem)
		return emulate_mem_write(vcpu, emulate_operand(vcpu, insn), 2, (u16)c->cr0)
			       ? -EFAULT
			       : DONE;
	emulate_set_gpr(vcpu, insn->rm, insn->opsize, true, c->cr0);
	return DONE;
}

/*
 * On SVM the instruction tells what the exit does not: all without decode assists, with them what
 * is no MOV. 0; DONE: SMSW, which exits while CR0's reads do (APM vol. 2, 15.8.1; on VT-x it reads
 * the shadow); -EINVAL: #GP; -EFAULT: #PF raised; -EAGAIN: another vCPU has put an instruction
 * there that does not exit so, which is for the CPU to judge.
 */
static int decode_cr(struct vcpu *vcpu, struct vmexit *exit)
{
	const struct insn *insn;
	struct hvm_context c;
	int err = emulate_fetch(vcpu, &insn);

	if (err)
		return err == -EFAULT ? err : -EAGAIN;
	exit->insn_len = insn->len;
	hvm->get_context(vcpu, &c);
	if (IS_ENABLED(CONFIG_VM_EMULATE_ALL) && insn->op == INSN_SMSW)
		return store_msw(vcpu, insn, &c);
	/* The CPU has tested it, but of other bytes. */
	if (c.cpl)
		return -EAGAIN;
	switch (insn->op) {
	case INSN_MOV_CR:
		/* TCG reports a read of any control register as one of CR0 while those exit. */
		exit->cr.kind = CR_MOV;
		exit->cr.cr = insn->reg;
		exit->cr.write = !insn->to_mem;
		exit->cr.gpr = insn->rm;
		return 0;
	case INSN_CLTS: exit->cr.kind = CR_CLTS; return 0;
	case INSN_LMSW: {
		u64 value = insn->mem ? 0 : vcpu->regs.gpr[insn->rm];

		if (insn->mem && emulate_mem_read(vcpu, emulate_operand(vcpu, insn), 2, &value))
			return -EFAULT;
		exit->cr.kind = CR_LMSW;
		exit->cr.lmsw = (u16)value;
		return 0;
	}
	default: return -EAGAIN;
	}
}

void exit_cr(struct vcpu *vcpu, const struct vmexit *raw)
{
	struct vmexit exit = *raw;
	int err = exit.cr.decoded ? 0 : decode_cr(vcpu, &exit);

	if (err == -EFAULT)
		return;
	if (!err)
		err = access_cr(vcpu, &exit, exit.cr.gpr);
	switch (err) {
	case 0:
	case DONE: emulate_skip_exit(vcpu, &exit); break;
	case -EINVAL: vcpu_raise_error(vcpu, VEC_GP, 0); break;
	default:
		if (!emulate_again(vcpu))
			emulate_refuse(vcpu, "control-register access that Margay does not know");
	}
}
