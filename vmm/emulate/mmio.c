/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory-mapped access by emulation: what the instruction behind a stage-2 exit
 * does (SDM vol. 2 for each). decode.c decodes it; emulate_mem.c gives it its
 * operand, of RAM or of the device that it calls.
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"
#include "vmm/vm.h"

#define ARITH_FLAGS (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_OF)

static u64 sign_extend(u64 v, unsigned size)
{
	unsigned shift = 64 - size * 8;

	return (u64)((s64)(v << shift) >> shift);
}

/* The value of `a op b` and the flags it leaves (SDM vol. 1, 3.4.3.1). */
static u64 alu(enum insn_op op, unsigned size, u64 a, u64 b, u64 *rflags)
{
	u64 carry = (op == INSN_ADC || op == INSN_SBB) && *rflags & RFLAGS_CF, sign = BIT(size * 8 - 1), r, f = 0;

	switch (op) {
	case INSN_ADD:
	case INSN_ADC:
		r = emulate_truncate(a + b + carry, size);
		f |= r < a || (carry && r == a) ? RFLAGS_CF : 0;
		f |= (a ^ r) & (b ^ r) & sign ? RFLAGS_OF : 0;
		f |= (a ^ b ^ r) & 0x10 ? RFLAGS_AF : 0;
		break;
	case INSN_SUB:
	case INSN_SBB:
	case INSN_CMP:
		r = emulate_truncate(a - b - carry, size);
		f |= a < b || (carry && a == b) ? RFLAGS_CF : 0;
		f |= (a ^ b) & (a ^ r) & sign ? RFLAGS_OF : 0;
		f |= (a ^ b ^ r) & 0x10 ? RFLAGS_AF : 0;
		break;
	case INSN_OR:
		r = a | b;
		break;
	case INSN_XOR:
		r = a ^ b;
		break;
	default: /* AND, TEST */
		r = a & b;
	}
	f |= r ? 0 : RFLAGS_ZF;
	f |= r & sign ? RFLAGS_SF : 0;
	f |= __builtin_parity((unsigned)(r & 0xff)) ? 0 : RFLAGS_PF;
	*rflags = (*rflags & ~ARITH_FLAGS) | f;
	return r;
}

static u64 bit_op(enum insn_op op, unsigned size, u64 value, u64 index, u64 *rflags)
{
	u64 bit = BIT(index & (size * 8 - 1));

	*rflags = (*rflags & ~RFLAGS_CF) | (value & bit ? RFLAGS_CF : 0);
	switch (op) {
	case INSN_BTS:
		return value | bit;
	case INSN_BTR:
		return value & ~bit;
	case INSN_BTC:
		return value ^ bit;
	default:
		return value;
	}
}

/* MOV, MOVNTI, MOVZX, MOVSX, XCHG. */
static int move(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u64 reg = insn->has_imm ? insn->imm : emulate_get_gpr(vcpu, insn->reg, insn->opsize, insn->rex), mem;
	int err;

	if ((insn->op == INSN_MOV && insn->to_mem) || insn->op == INSN_MOVNTI)
		return emulate_mem_write(vcpu, gva, insn->opsize, reg);
	err = emulate_mem_read(vcpu, gva, insn->opsize, &mem);
	if (err)
		return err;
	switch (insn->op) {
	case INSN_MOVZX:
		emulate_set_gpr(vcpu, insn->reg, insn->dstsize, true, mem);
		return 0;
	case INSN_MOVSX:
		emulate_set_gpr(vcpu, insn->reg, insn->dstsize, true,
				emulate_truncate(sign_extend(mem, insn->opsize), insn->dstsize));
		return 0;
	case INSN_XCHG:
		err = emulate_mem_write(vcpu, gva, insn->opsize, reg);
		if (err)
			return err;
		break;
	default:
		break;
	}
	emulate_set_gpr(vcpu, insn->reg, insn->opsize, insn->rex, mem);
	return 0;
}

static int arithmetic(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u64 reg = insn->has_imm ? emulate_truncate(insn->imm, insn->opsize) :
				  emulate_get_gpr(vcpu, insn->reg, insn->opsize, insn->rex);
	u64 rflags = vcpu->regs.rflags, mem, r;
	int err = emulate_mem_read(vcpu, gva, insn->opsize, &mem);

	if (err)
		return err;
	r = insn->to_mem || insn->has_imm ? alu(insn->op, insn->opsize, mem, reg, &rflags) :
					    alu(insn->op, insn->opsize, reg, mem, &rflags);
	if (insn->op != INSN_CMP && insn->op != INSN_TEST) {
		if (insn->to_mem) {
			err = emulate_mem_write(vcpu, gva, insn->opsize, r);
			if (err)
				return err;
		} else {
			emulate_set_gpr(vcpu, insn->reg, insn->opsize, insn->rex, r);
		}
	}
	vcpu->regs.rflags = rflags;
	return 0;
}

/* INC, DEC, NOT, NEG. */
static int unary(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u64 rflags = vcpu->regs.rflags, mem, r;
	int err = emulate_mem_read(vcpu, gva, insn->opsize, &mem);

	if (err)
		return err;
	switch (insn->op) {
	case INSN_NOT:
		r = emulate_truncate(~mem, insn->opsize);
		break;
	case INSN_NEG:
		r = alu(INSN_SUB, insn->opsize, 0, mem, &rflags);
		break;
	default: /* CF stays */
		r = alu(insn->op == INSN_INC ? INSN_ADD : INSN_SUB, insn->opsize, mem, 1, &rflags);
		rflags = (rflags & ~RFLAGS_CF) | (vcpu->regs.rflags & RFLAGS_CF);
	}
	err = emulate_mem_write(vcpu, gva, insn->opsize, r);
	if (!err)
		vcpu->regs.rflags = rflags;
	return err;
}

static int bit_test(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u64 index = insn->has_imm ? insn->imm : emulate_get_gpr(vcpu, insn->reg, insn->opsize, insn->rex);
	u64 rflags = vcpu->regs.rflags, mem, r;
	int err;

	/* A register index reaches beyond the operand, in units of its size, signed (SDM vol. 2, BT). */
	if (!insn->has_imm)
		gva += (u64)(((s64)sign_extend(index, insn->opsize) >> (insn->opsize == 8 ? 6 : insn->opsize == 4 ? 5 : 4)) *
			     insn->opsize);
	err = emulate_mem_read(vcpu, gva, insn->opsize, &mem);
	if (err)
		return err;
	r = bit_op(insn->op, insn->opsize, mem, index, &rflags);
	if (insn->op != INSN_BT) {
		err = emulate_mem_write(vcpu, gva, insn->opsize, r);
		if (err)
			return err;
	}
	vcpu->regs.rflags = rflags;
	return 0;
}

/* MOVS, STOS, LODS. 0 when done; -EAGAIN: more elements, come back to the same RIP; -EFAULT. */
static int string_move(struct vcpu *vcpu, const struct insn *insn)
{
	bool si = insn->op != INSN_STOS, di = insn->op != INSN_LODS;
	unsigned done = 0;

	while (emulate_string_more(vcpu, insn)) {
		u64 v = emulate_get_gpr(vcpu, GPR_RAX, insn->opsize, true);
		int err = 0;

		if (si)
			err = emulate_mem_read(vcpu, emulate_string_operand(vcpu, insn, GPR_RSI), insn->opsize, &v);
		if (!err && di)
			err = emulate_mem_write(vcpu, emulate_string_operand(vcpu, insn, GPR_RDI), insn->opsize, v);
		if (err)
			return err;
		if (!di)
			emulate_set_gpr(vcpu, GPR_RAX, insn->opsize, true, v);
		emulate_string_advance(vcpu, insn, si, di);
		if (!(insn->rep || insn->repne))
			break;
		if (emulate_string_pause(vcpu, insn, ++done))
			return -EAGAIN;
	}
	return 0;
}

static int perform(struct vcpu *vcpu, const struct insn *insn)
{
	switch (insn->op) {
	case INSN_MOV:
	case INSN_MOVNTI:
	case INSN_MOVZX:
	case INSN_MOVSX:
	case INSN_XCHG:
		return move(vcpu, insn, emulate_operand(vcpu, insn));
	default:
		break;
	}
	if (!IS_ENABLED(CONFIG_VM_EMULATE_ALL))
		return -EINVAL;
	switch (insn->op) {
	case INSN_AND:
	case INSN_OR:
	case INSN_XOR:
	case INSN_ADD:
	case INSN_ADC:
	case INSN_SUB:
	case INSN_SBB:
	case INSN_CMP:
	case INSN_TEST:
		return arithmetic(vcpu, insn, emulate_operand(vcpu, insn));
	case INSN_INC ... INSN_NEG:
		return unary(vcpu, insn, emulate_operand(vcpu, insn));
	case INSN_BT:
	case INSN_BTS:
	case INSN_BTR:
	case INSN_BTC:
		return bit_test(vcpu, insn, emulate_operand(vcpu, insn));
	default:
		return -EINVAL;
	}
}

static bool is_string(const struct insn *insn)
{
	return IS_ENABLED(CONFIG_VM_EMULATE_ALL) &&
	       (insn->op == INSN_MOVS || insn->op == INSN_STOS || insn->op == INSN_LODS);
}

static int carry_out(struct vcpu *vcpu, const struct insn *insn, const struct vmexit *exit)
{
	int err;

	if (is_string(insn))
		return string_move(vcpu, insn);
	if (!insn->mem)
		return -EINVAL;
	vcpu->access = (struct exit_access){ .valid = true, .write = exit->stage2.write, .gpa = exit->stage2.gpa };
	err = perform(vcpu, insn);
	vcpu->access.valid = false;
	return err;
}

void emulate_mmio(struct vcpu *vcpu, const struct vmexit *exit)
{
	const struct insn *insn;
	int err;

	if (exit->stage2.exec || exit->stage2.walk) {
		vm_log(vcpu->vm, "vcpu%u: %s at GPA %#lx, where there is no RAM", vcpu->id,
		       exit->stage2.exec ? "instruction fetch" : "page table", exit->stage2.gpa.v);
		emulate_give_up(vcpu, "the guest cannot go on");
		return;
	}
	/* Not the instruction at RIP accessed it: it must not be carried out, perhaps for ever. */
	if (vcpu->event.type != HVM_EVENT_NONE) {
		vm_log(vcpu->vm, "vcpu%u: delivery of vector %u accessed GPA %#lx, where there is no RAM", vcpu->id,
		       vcpu->event.vector, exit->stage2.gpa.v);
		emulate_give_up(vcpu, "the guest cannot go on");
		return;
	}
	err = emulate_fetch(vcpu, &insn);
	if (!err)
		err = carry_out(vcpu, insn, exit);
	if (!err)
		emulate_skip(vcpu, insn->len);
	else if (err != -EFAULT && err != -EAGAIN && !emulate_again(vcpu))
		emulate_give_up(vcpu, "cannot emulate the memory-mapped access");
}
