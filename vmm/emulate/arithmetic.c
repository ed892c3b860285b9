/* SPDX-License-Identifier: GPL-2.0-only */
/* Arithmetic and bit instructions with an operand in memory, of any size, and the flags that they leave (SDM vol. 2 for each). */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"

#define ARITH_FLAGS (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_OF)

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

static int two_operands(struct vcpu *vcpu, const struct insn *insn, u64 gva)
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
		gva += (u64)(((s64)emulate_sign_extend(index, insn->opsize) >>
			      (insn->opsize == 8 ? 6 : insn->opsize == 4 ? 5 : 4)) * insn->opsize);
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

int emulate_arithmetic(struct vcpu *vcpu, const struct insn *insn)
{
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
		return two_operands(vcpu, insn, emulate_operand(vcpu, insn));
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
