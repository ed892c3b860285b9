/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the operands of an instruction: ModRM groups, ModRM and SIB
 * addressing, immediates, implied operands (SDM vol. 2, 2.1 and tables A-6).
 */
#include "vmm/emulate/decode_impl.h"

#include <margay/errno.h>

static bool is_reg_form(const struct decoder *d)
{
	return d->modrm >> 6 == 3;
}

static const struct {
	u8 modrm;
	u8 op;
} registers_only[] = {
	{ 0xc1, INSN_VMCALL },
	{ 0xd1, INSN_XSETBV },
	{ 0xd9, INSN_VMMCALL },
	{ 0xf9, INSN_RDTSCP },
};

/* 0F 01 (group 7): with a register form, most encodings are instructions of their own. */
static int refine_0f01(struct decoder *d, struct opcode *oc)
{
	struct insn *i = d->insn;
	u8 reg = decode_reg_field(d);

	if (reg == 6) {
		i->op = INSN_LMSW;
		i->opsize = 2;
		return 0;
	}
	if (reg == 4) {
		i->op = INSN_SMSW;
		if (!is_reg_form(d))
			i->opsize = 2;
		return 0;
	}
	if (!is_reg_form(d))
		return reg == 5 && !i->rep ? -EINVAL : 0; /* F3: RSTORSSP */
	oc->attr |= OP_REG_ONLY;
	for (unsigned n = 0; n < ARRAY_SIZE(registers_only); n++)
		if (d->modrm == registers_only[n].modrm)
			i->op = registers_only[n].op;
	return 0;
}

static int refine_group(struct decoder *d, struct opcode *oc)
{
	static const u8 arith[8] = { INSN_ADD, INSN_OR,  INSN_ADC, INSN_SBB,
				     INSN_AND, INSN_SUB, INSN_XOR, INSN_CMP };
	static const u8 unary[4] = { INSN_TEST, INSN_TEST, INSN_NOT, INSN_NEG };
	static const u8 bits[4] = { INSN_BT, INSN_BTS, INSN_BTR, INSN_BTC };
	struct insn *i = d->insn;
	u8 reg = decode_reg_field(d);

	switch (d->opcode) {
	case 0x80 ... 0x83: i->op = arith[reg]; return 0;
	case 0x8f: return reg ? -EINVAL : 0;
	case 0xc6:
	case 0xc7:
		if (d->modrm == 0xf8) /* XABORT, XBEGIN */
			i->op = INSN_OTHER;
		else if (reg)
			return -EINVAL;
		return 0;
	case 0xf6:
	case 0xf7:
		if (reg < 4)
			i->op = unary[reg];
		if (reg < 2)
			oc->imm = d->opcode == 0xf6 ? IMM_8 : IMM_Z;
		return 0;
	case 0xfe:
	case 0xff:
		if (reg < 2)
			i->op = INSN_INC + reg; /* INC, DEC */
		else if (d->opcode == 0xfe)
			return -EINVAL;
		return reg == 7 || ((reg == 3 || reg == 5) && is_reg_form(d)) ? -EINVAL : 0;
	case 0xba:
		if (reg < 4)
			return -EINVAL;
		i->op = bits[reg - 4];
		return 0;
	case 0x00: /* 0F 00: SLDT, STR, LLDT, LTR, VERR, VERW */ return reg > 5 ? -EINVAL : 0;
	default: return refine_0f01(d, oc);
	}
}

/* Opcodes whose meaning in the 0F map depends on a prefix or the mode. */
static void refine_plain(struct decoder *d, struct opcode *oc)
{
	struct insn *i = d->insn;

	if (d->map == MAP_ONE_BYTE && d->opcode == 0x63 && d->mode == MODE_64) {
		i->op = INSN_MOVSX;
		i->dstsize = i->opsize;
		i->opsize = MIN(i->opsize, 4);
		oc->attr &= (u8)~OP_RM_FIRST;
	} else if (i->op == INSN_MOVZX || i->op == INSN_MOVSX) {
		i->dstsize = i->opsize;
		i->opsize = d->opcode & 1 ? 2 : 1;
	} else if (i->op == INSN_MOV_CR) {
		i->opsize = d->mode == MODE_64 ? 8 : 4;
	} else if (i->op == INSN_MOVNTI) {
		i->opsize = MAX(i->opsize, 4);
	} else if (d->map == MAP_0F && d->opcode == 0xc7 && decode_reg_field(d) == 1 &&
		   !is_reg_form(d)) {
		i->op = INSN_CMPXCHG8B;
		i->opsize = d->rex & REX_W ? 16 : 8;
		oc->attr |= OP_RM_FIRST;
	} else if (d->map == MAP_0F && d->opcode == 0x78 && (d->opsize_prefix || i->repne)) {
		oc->imm = IMM_8_8;
	}
}

int decode_refine(struct decoder *d, struct opcode *oc)
{
	if (!is_reg_form(d) && decode_vector(d, oc))
		return 0;
	if (d->vector)
		return 0;
	if (oc->attr & OP_MEM_ONLY && is_reg_form(d))
		return -EINVAL;
	if (oc->attr & OP_GROUP)
		return refine_group(d, oc);
	refine_plain(d, oc);
	return 0;
}

static u64 fetch_le(struct decoder *d, unsigned size)
{
	u64 v = 0;

	for (unsigned i = 0; i < size; i++)
		v |= (u64)decode_fetch(d) << 8 * i;
	return v;
}

/* 16-bit addressing forms (SDM vol. 2, table 2-1). */
static void address_16(struct decoder *d, u8 mod, u8 rm)
{
	static const u8 base[8] = { GPR_RBX, GPR_RBX, GPR_RBP, GPR_RBP,
				    GPR_RSI, GPR_RDI, GPR_RBP, GPR_RBX };
	static const u8 index[4] = { GPR_RSI, GPR_RDI, GPR_RSI, GPR_RDI };
	struct insn *i = d->insn;

	if (mod == 0 && rm == 6) {
		i->disp = (s64)insn_sign_extend(fetch_le(d, 2), 2);
		return;
	}
	i->has_base = true;
	i->base = base[rm];
	if (rm < 4) {
		i->has_index = true;
		i->index = index[rm];
	}
	if (mod)
		i->disp = (s64)insn_sign_extend(fetch_le(d, mod), mod);
}

/* 32- and 64-bit addressing forms (SDM vol. 2, tables 2-2 and 2-3, and 2.2.1.6). */
static void address_32_64(struct decoder *d, u8 mod, u8 rm)
{
	struct insn *i = d->insn;
	bool disp32 = mod == 2;

	if (rm == 4) {
		u8 sib = decode_fetch(d);
		u8 index = (u8)((sib >> 3 & 7) | (d->rex & REX_X ? 8 : 0));

		i->has_base = !(mod == 0 && (sib & 7) == 5);
		i->base = (u8)((sib & 7) | (d->rex & REX_B ? 8 : 0));
		i->has_index = index != GPR_RSP;
		i->index = index;
		i->scale = (u8)(1u << (sib >> 6));
		disp32 |= !i->has_base;
	} else if (mod == 0 && rm == 5) {
		i->rip_relative = d->mode == MODE_64;
		disp32 = true;
	} else {
		i->has_base = true;
		i->base = (u8)(rm | (d->rex & REX_B ? 8 : 0));
	}
	if (mod == 1)
		i->disp = (s64)insn_sign_extend(decode_fetch(d), 1);
	else if (disp32)
		i->disp = (s64)insn_sign_extend(fetch_le(d, 4), 4);
}

void decode_modrm(struct decoder *d, unsigned attr)
{
	struct insn *i = d->insn;
	u8 mod = d->modrm >> 6, rm = d->modrm & 7;

	i->has_modrm = true;
	i->reg = (u8)(decode_reg_field(d) | (d->rex & REX_R ? 8 : 0) | (i->evex ? d->reg_high : 0));
	i->to_mem = attr & OP_RM_FIRST;
	if (mod == 3 || attr & OP_REG_ONLY) {
		i->rm = (u8)(rm | (d->rex & REX_B ? 8 : 0));
		return;
	}
	i->mem = true;
	i->scale = 1;
	if (i->addrsize == 2)
		address_16(d, mod, rm);
	else
		address_32_64(d, mod, rm);
	if (d->disp8_size && mod == 1)
		i->disp *= d->disp8_size;
	if (d->has_seg)
		i->seg = d->seg;
	else if (i->has_base && (i->base == GPR_RSP || i->base == GPR_RBP))
		i->seg = SEG_SS;
}

void decode_immediate(struct decoder *d, enum opcode_imm kind)
{
	struct insn *i = d->insn;
	unsigned z = MIN(i->opsize, 4u), v = i->opsize;

	if (kind == IMM_NONE)
		return;
	i->has_imm = kind != IMM_MOFFS;
	switch (kind) {
	case IMM_8: i->imm = decode_fetch(d); break;
	case IMM_8S: i->imm = insn_truncate(insn_sign_extend(decode_fetch(d), 1), v); break;
	case IMM_16: i->imm = fetch_le(d, 2); break;
	case IMM_Z: i->imm = insn_truncate(insn_sign_extend(fetch_le(d, z), z), v); break;
	case IMM_V: i->imm = fetch_le(d, v); break;
	case IMM_REL:
		/* Intel ignores the operand-size prefix of near branches in 64-bit mode. */
		fetch_le(d, d->mode == MODE_64 ? 4 : z);
		break;
	case IMM_FAR: fetch_le(d, z + 2); break;
	case IMM_ENTER: fetch_le(d, 3); break;
	case IMM_8_8: fetch_le(d, 2); break;
	case IMM_32: fetch_le(d, 4); break;
	case IMM_MOFFS:
		i->mem = true;
		i->scale = 1;
		i->disp = (s64)fetch_le(d, i->addrsize);
		if (d->has_seg)
			i->seg = d->seg;
		break;
	case IMM_NONE: break;
	}
}

/* String instructions: where their pointers are (SDM vol. 2, INS, LODS, MOVS, OUTS, STOS). */
static void string_operand(struct decoder *d, u8 pointer, bool to_mem)
{
	struct insn *i = d->insn;

	i->mem = true;
	i->scale = 1;
	i->has_base = true;
	i->base = pointer;
	i->to_mem = to_mem;
	if (pointer == GPR_RDI)
		i->seg = SEG_ES;
	else if (d->has_seg)
		i->seg = d->seg;
}

/* SDM vol. 2, LOCK. Of INSN_OTHER the CPU has judged itself. */
static bool lock_allowed(const struct insn *i)
{
	if (i->op >= INSN_XCHG && i->op <= INSN_BTC)
		return i->mem && i->to_mem;
	return i->op == INSN_OTHER;
}

int decode_finish(struct decoder *d)
{
	struct insn *i = d->insn;

	switch (i->op) {
	case INSN_MOVS: string_operand(d, GPR_RSI, true); break;
	case INSN_LODS:
	case INSN_OUTS: string_operand(d, GPR_RSI, false); break;
	case INSN_STOS:
	case INSN_INS: string_operand(d, GPR_RDI, true); break;
	case INSN_MOV_CR:
		/* AMD: LOCK MOV CR0 reaches CR8 outside 64-bit mode (APM vol. 3, MOV CRn). */
		if (i->lock) {
			if (i->reg)
				return -EINVAL;
			i->reg = 8;
			return 0;
		}
		break;
	default: break;
	}
	/* No port is wider than 32 bits. */
	if (i->op == INSN_IN || i->op == INSN_OUT || i->op == INSN_INS || i->op == INSN_OUTS)
		i->opsize = MIN(i->opsize, 4);
	return i->lock && !lock_allowed(i) ? -EINVAL : 0;
}
