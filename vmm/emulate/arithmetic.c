/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic and bit instructions with an operand in memory, of any size, and the flags that they
 * leave (SDM vol. 2 for each).
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"

#define ARITH_FLAGS (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_OF)

u64 emulate_alu(enum insn_op op, unsigned size, u64 a, u64 b, u64 *rflags)
{
	u64 carry = (op == INSN_ADC || op == INSN_SBB) && *rflags & RFLAGS_CF,
	    sign = BIT(size * 8 - 1), r, f = 0;

	switch (op) {
	case INSN_ADD:
	case INSN_ADC:
		r = insn_truncate(a + b + carry, size);
		f |= r < a || (carry && r == a) ? RFLAGS_CF : 0;
		f |= (a ^ r) & (b ^ r) & sign ? RFLAGS_OF : 0;
		f |= (a ^ b ^ r) & 0x10 ? RFLAGS_AF : 0;
		break;
	case INSN_SUB:
	case INSN_SBB:
	case INSN_CMP:
		r = insn_truncate(a - b - carry, size);
		f |= a < b || (carry && a == b) ? RFLAGS_CF : 0;
		f |= (a ^ b) & (a ^ r) & sign ? RFLAGS_OF : 0;
		f |= (a ^ b ^ r) & 0x10 ? RFLAGS_AF : 0;
		break;
	case INSN_OR: r = a | b; break;
	case INSN_XOR: r = a ^ b; break;
	default: /* AND, TEST */ r = a & b;
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
	case INSN_BTS: return value | bit;
	case INSN_BTR: return value & ~bit;
	case INSN_BTC: return value ^ bit;
	default: return value;
	}
}

/*
 * The value of any of these instructions, of which some have one operand, and the flags it leaves.
 */
static u64 compute(enum insn_op op, unsigned size, u64 a, u64 b, u64 *rflags)
{
	u64 carry = *rflags & RFLAGS_CF, r;

	switch (op) {
	case INSN_NOT: return insn_truncate(~a, size);
	case INSN_NEG: return emulate_alu(INSN_SUB, size, 0, a, rflags);
	case INSN_INC:
	case INSN_DEC: /* CF stays */
		r = emulate_alu(op == INSN_INC ? INSN_ADD : INSN_SUB, size, a, 1, rflags);
		*rflags = (*rflags & ~RFLAGS_CF) | carry;
		return r;
	case INSN_BTS ... INSN_BT: return bit_op(op, size, a, b, rflags);
	default: return emulate_alu(op, size, a, b, rflags);
	}
}

int emulate_arithmetic(struct vcpu *vcpu, const struct insn *insn)
{
	/* BT, CMP and TEST leave nothing but flags. */
	bool writes = insn->op < INSN_BT && insn->to_mem;
	unsigned size = insn->opsize;
	u64 gva, other, mem, r, rflags = vcpu->regs.rflags;
	int err;

	if (insn->op < INSN_AND || insn->op > INSN_TEST)
		return -EINVAL;
	gva = emulate_operand(vcpu, insn);
	other = insn->has_imm ? insn_truncate(insn->imm, size)
			      : emulate_get_gpr(vcpu, insn->reg, size, insn->rex);
	/*
	 * A register index reaches beyond the operand, in units of its size, signed (SDM vol. 2,
	 * BT).
	 */
	if (insn->op >= INSN_BTS && insn->op <= INSN_BT && !insn->has_imm)
		gva += (u64)(((s64)insn_sign_extend(other, size) >> __builtin_ctz(8 * size)) *
			     size);
	err = writes ? emulate_mem_writable(vcpu, gva, size) : 0;
	if (!err)
		err = emulate_mem_read(vcpu, gva, size, &mem);
	if (err)
		return err;
	r = insn->to_mem ? compute(insn->op, size, mem, other, &rflags)
			 : compute(insn->op, size, other, mem, &rflags);
	if (writes)
		err = emulate_mem_write(vcpu, gva, size, r);
	else if (insn->op < INSN_BT)
		emulate_set_gpr(vcpu, insn->reg, size, insn->rex, r);
	if (!err)
		vcpu->regs.rflags = rflags;
	return err;
}
