/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what the files of the decoder share: the byte cursor and the
 * opcode attributes (SDM vol. 2, chapter 2 and appendix A). For decode*.c
 * only.
 */
#ifndef VMM_DECODE_IMPL_H
#define VMM_DECODE_IMPL_H

#include "vmm/emulate/decode.h"

/* Opcode maps: the legacy ones, and those that only VEX, EVEX or XOP reach. */
enum map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_PLAIN, MAP_XOP8, MAP_XOP10 };

struct decoder {
	const u8 *bytes;
	/* pos may run past size: the missing bytes read as 0 */
	unsigned size;
	unsigned pos;

	enum insn_mode mode;
	enum map map;
	u8 opcode;
	u8 rex; /* REX.WRXB in bits 3:0 */
	u8 modrm;
	bool opsize_prefix;
	bool addrsize_prefix;
	bool has_seg;
	bool vector; /* VEX, EVEX or XOP */
	/*
	 * VEX or EVEX with no more than two operands, of which none is masked or broadcast, by
	 * these:
	 */
	bool plain;
	bool evex;
	bool vex_w;
	/* reg_high: bit 4 of ModRM.reg, in place */
	u8 vex_pp;
	u8 vex_l;
	u8 reg_high;
	/* EVEX: what a displacement of 8 bits counts (SDM vol. 2, 2.7.5); 0: bytes */
	u8 disp8_size;
	enum seg seg;
	struct insn *insn;
};

#define REX_W 8u
#define REX_R 4u
#define REX_X 2u
#define REX_B 1u

static inline u8 decode_peek(const struct decoder *d)
{
	return d->pos < d->size ? d->bytes[d->pos] : 0;
}

static inline u8 decode_fetch(struct decoder *d)
{
	u8 b = decode_peek(d);

	d->pos++;
	return b;
}

static inline u8 decode_reg_field(const struct decoder *d)
{
	return d->modrm >> 3 & 7;
}

/* What follows the opcode, and how its operands are read. */
enum opcode_attr {
	OP_MODRM = 1 << 0,
	OP_BYTE = 1 << 1, /* the operand is a byte, whatever the prefixes say */
	OP_RM_FIRST = 1 << 2, /* the r/m operand is the first (destination) one */
	OP_NO64 = 1 << 3, /* undefined in 64-bit mode */
	OP_UNDEF = 1 << 4, /* undefined in all modes */
	OP_GROUP = 1 << 5, /* ModRM.reg selects the instruction */
	OP_REG_ONLY = 1 << 6, /* ModRM.mod is ignored: both operands are registers */
	OP_MEM_ONLY = 1 << 7, /* undefined with a register in r/m */
};

enum opcode_imm {
	IMM_NONE,
	IMM_8, /* a byte, zero-extended */
	IMM_8S, /* a byte, sign-extended */
	IMM_16,
	IMM_Z, /* 2 or 4 bytes by operand size, sign-extended */
	IMM_V, /* 2, 4 or 8 bytes by operand size */
	IMM_REL, /* near branch: 2 or 4 bytes, 4 in 64-bit mode */
	IMM_FAR, /* far pointer: offset by operand size, then a selector */
	IMM_ENTER, /* 16 bits, then 8 */
	IMM_8_8, /* two bytes: EXTRQ, INSERTQ */
	IMM_32,
	IMM_MOFFS, /* an address of address size: the memory operand */
};

struct opcode {
	u8 op; /* enum insn_op */
	u8 imm; /* enum opcode_imm */
	u8 attr; /* enum opcode_attr */
};

/* Indexed by opcode byte. A zero entry is a valid opcode without operands, not emulated. */
extern const struct opcode opcode_one_byte[256];
extern const struct opcode opcode_0f[256];

/*
 * What ModRM (already read) says about the opcode: the member of a group, a
 * form that is undefined. May change insn->op and *oc. 0 or -EINVAL.
 */
int decode_refine(struct decoder *d, struct opcode *oc);
/*
 * ModRM (already read) names memory: is it one of INSN_VECTOR's moves? Then op, opsize and *oc are
 * set.
 */
bool decode_vector(struct decoder *d, struct opcode *oc);
/* Reads the ModRM operand's SIB and displacement. */
void decode_modrm(struct decoder *d, unsigned attr);
void decode_immediate(struct decoder *d, enum opcode_imm kind);
/* Operands that no byte names, and LOCK's rules. 0 or -EINVAL. */
int decode_finish(struct decoder *d);

#endif
