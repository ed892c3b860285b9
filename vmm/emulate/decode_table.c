/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: attributes of the one-byte and the 0F opcodes, SDM vol. 2,
 * tables, with AMD's 3DNow!, EXTRQ and INSERTQ (APM vol. 3,
 * appendix A). Prefix and escape bytes are consumed before the table is read.
 */
#include "vmm/emulate/decode_impl.h"

/* Short names for the rows below. */
enum {
	M = OP_MODRM,
	MB = OP_MODRM | OP_BYTE,
	MD = OP_MODRM | OP_RM_FIRST,
	MDB = OP_MODRM | OP_RM_FIRST | OP_BYTE,
	G = OP_MODRM | OP_RM_FIRST | OP_GROUP,
	GB = OP_MODRM | OP_RM_FIRST | OP_GROUP | OP_BYTE,
	B = OP_BYTE,
	N = OP_NO64,
	U = OP_UNDEF,
};

/* clang-format off */
const struct opcode opcode_one_byte[256] = {
	/* Arithmetic: four ModRM forms, two with the accumulator and an immediate. */
	[0x00] = { INSN_ADD, 0, MDB }, { INSN_ADD, 0, MD }, { INSN_ADD, 0, MB }, { INSN_ADD, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, N }, { 0, 0, N },
	[0x08] = { INSN_OR, 0, MDB }, { INSN_OR, 0, MD }, { INSN_OR, 0, MB }, { INSN_OR, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, N }, { 0, 0, U },
	[0x10] = { INSN_ADC, 0, MDB }, { INSN_ADC, 0, MD }, { INSN_ADC, 0, MB }, { INSN_ADC, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, N }, { 0, 0, N },
	[0x18] = { INSN_SBB, 0, MDB }, { INSN_SBB, 0, MD }, { INSN_SBB, 0, MB }, { INSN_SBB, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, N }, { 0, 0, N },
	[0x20] = { INSN_AND, 0, MDB }, { INSN_AND, 0, MD }, { INSN_AND, 0, MB }, { INSN_AND, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, U }, { 0, 0, N },
	[0x28] = { INSN_SUB, 0, MDB }, { INSN_SUB, 0, MD }, { INSN_SUB, 0, MB }, { INSN_SUB, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, U }, { 0, 0, N },
	[0x30] = { INSN_XOR, 0, MDB }, { INSN_XOR, 0, MD }, { INSN_XOR, 0, MB }, { INSN_XOR, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, U }, { 0, 0, N },
	[0x38] = { INSN_CMP, 0, MDB }, { INSN_CMP, 0, MD }, { INSN_CMP, 0, MB }, { INSN_CMP, 0, M },
	{ 0, IMM_8, B }, { 0, IMM_Z, 0 }, { 0, 0, U }, { 0, 0, N },

	/* INC, DEC (REX in 64-bit mode), PUSH, POP. */
	[0x40 ... 0x5f] = { 0, 0, 0 },
	[0x60] = { 0, 0, N }, { 0, 0, N }, { 0, 0, M | N | OP_MEM_ONLY }, { 0, 0, MD },
	{ 0, 0, U }, { 0, 0, U }, { 0, 0, U }, { 0, 0, U },
	[0x68] = { 0, IMM_Z, 0 }, { 0, IMM_Z, M }, { 0, IMM_8S, 0 }, { 0, IMM_8S, M },
	{ INSN_INS, 0, B }, { INSN_INS, 0, 0 }, { INSN_OUTS, 0, B }, { INSN_OUTS, 0, 0 },
	[0x70 ... 0x7f] = { 0, IMM_8S, 0 },

	[0x80] = { 0, IMM_8, GB }, { 0, IMM_Z, G }, { 0, IMM_8, GB | N }, { 0, IMM_8S, G },
	{ INSN_TEST, 0, MDB }, { INSN_TEST, 0, MD }, { INSN_XCHG, 0, MDB }, { INSN_XCHG, 0, MD },
	[0x88] = { INSN_MOV, 0, MDB }, { INSN_MOV, 0, MD }, { INSN_MOV, 0, MB }, { INSN_MOV, 0, M },
	{ 0, 0, M }, { 0, 0, M | OP_MEM_ONLY }, { 0, 0, M }, { 0, 0, G },
	[0x90 ... 0x99] = { 0, 0, 0 },
	[0x9a] = { 0, IMM_FAR, N },
	[0x9b ... 0x9f] = { 0, 0, 0 },

	[0xa0] = { INSN_MOV, IMM_MOFFS, B }, { INSN_MOV, IMM_MOFFS, 0 },
	{ INSN_MOV, IMM_MOFFS, B | OP_RM_FIRST }, { INSN_MOV, IMM_MOFFS, OP_RM_FIRST },
	{ INSN_MOVS, 0, B }, { INSN_MOVS, 0, 0 }, { 0, 0, B }, { 0, 0, 0 },
	[0xa8] = { 0, IMM_8, B }, { 0, IMM_Z, 0 }, { INSN_STOS, 0, B }, { INSN_STOS, 0, 0 },
	{ INSN_LODS, 0, B }, { INSN_LODS, 0, 0 }, { 0, 0, B }, { 0, 0, 0 },
	[0xb0 ... 0xb7] = { 0, IMM_8, B },
	[0xb8 ... 0xbf] = { 0, IMM_V, 0 },

	[0xc0] = { 0, IMM_8, MDB }, { 0, IMM_8, MD }, { 0, IMM_16, 0 }, { 0, 0, 0 },
	{ 0, 0, M | N | OP_MEM_ONLY }, { 0, 0, M | N | OP_MEM_ONLY }, { INSN_MOV, IMM_8, GB },
	{ INSN_MOV, IMM_Z, G },
	[0xc8] = { 0, IMM_ENTER, 0 }, { 0, 0, 0 }, { 0, IMM_16, 0 }, { 0, 0, 0 },
	{ 0, 0, 0 }, { 0, IMM_8, 0 }, { 0, 0, N }, { 0, 0, 0 },
	[0xd0] = { 0, 0, MDB }, { 0, 0, MD }, { 0, 0, MDB }, { 0, 0, MD },
	{ 0, IMM_8, N }, { 0, IMM_8, N }, { 0, 0, N }, { 0, 0, 0 },
	[0xd8 ... 0xdf] = { 0, 0, M },

	[0xe0 ... 0xe3] = { 0, IMM_8S, 0 },
	[0xe4] = { INSN_IN, IMM_8, B }, { INSN_IN, IMM_8, 0 }, { INSN_OUT, IMM_8, B },
	{ INSN_OUT, IMM_8, 0 },
	[0xe8] = { 0, IMM_REL, 0 }, { 0, IMM_REL, 0 }, { 0, IMM_FAR, N }, { 0, IMM_8S, 0 },
	{ INSN_IN, 0, B }, { INSN_IN, 0, 0 }, { INSN_OUT, 0, B }, { INSN_OUT, 0, 0 },
	[0xf0] = { 0, 0, U }, { 0, 0, 0 }, { 0, 0, U }, { 0, 0, U },
	{ INSN_HLT, 0, 0 }, { 0, 0, 0 }, { 0, 0, GB }, { 0, 0, G },
	[0xf8 ... 0xfd] = { 0, 0, 0 },
	[0xfe] = { 0, 0, GB }, { 0, 0, G },
};
/* clang-format on */

/* clang-format off */
const struct opcode opcode_0f[256] = {
	[0x00] = { 0, 0, G }, { 0, 0, G }, { 0, 0, M }, { 0, 0, M },
	{ 0, 0, U }, { 0, 0, 0 }, { INSN_CLTS, 0, 0 }, { 0, 0, 0 },
	[0x08] = { INSN_INVD, 0, 0 }, { INSN_WBINVD, 0, 0 }, { 0, 0, U }, { 0, 0, 0 },
	{ 0, 0, U }, { 0, 0, M }, { 0, 0, 0 }, { 0, IMM_8, M },
	[0x10 ... 0x1f] = { 0, 0, M },
	[0x20] = { INSN_MOV_CR, 0, MD | OP_REG_ONLY }, { 0, 0, MD | OP_REG_ONLY },
	{ INSN_MOV_CR, 0, M | OP_REG_ONLY }, { 0, 0, M | OP_REG_ONLY },
	[0x24 ... 0x27] = { 0, 0, U },
	[0x28 ... 0x2f] = { 0, 0, M },
	[0x30] = { INSN_WRMSR, 0, 0 }, { INSN_RDTSC, 0, 0 }, { INSN_RDMSR, 0, 0 }, { 0, 0, 0 },
	{ 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, U }, { 0, 0, 0 },
	[0x38 ... 0x3f] = { 0, 0, U },
	[0x40 ... 0x6f] = { 0, 0, M },
	[0x70 ... 0x73] = { 0, IMM_8, M },
	[0x74 ... 0x76] = { 0, 0, M },
	[0x77] = { 0, 0, 0 },
	[0x78 ... 0x79] = { 0, 0, M },
	[0x7a ... 0x7b] = { 0, 0, U },
	[0x7c ... 0x7f] = { 0, 0, M },
	[0x80 ... 0x8f] = { 0, IMM_REL, 0 },
	[0x90 ... 0x9f] = { 0, 0, MDB },

	[0xa0] = { 0, 0, 0 }, { 0, 0, 0 }, { INSN_CPUID, 0, 0 }, { INSN_BT, 0, MD },
	{ 0, IMM_8, MD }, { 0, 0, MD }, { 0, 0, U }, { 0, 0, U },
	[0xa8] = { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { INSN_BTS, 0, MD },
	{ 0, IMM_8, MD }, { 0, 0, MD }, { 0, 0, M }, { 0, 0, M },
	[0xb0] = { INSN_CMPXCHG, 0, MDB }, { INSN_CMPXCHG, 0, MD }, { 0, 0, M | OP_MEM_ONLY },
	{ INSN_BTR, 0, MD },
	{ 0, 0, M | OP_MEM_ONLY }, { 0, 0, M | OP_MEM_ONLY }, { INSN_MOVZX, 0, M },
	{ INSN_MOVZX, 0, M },
	[0xb8] = { 0, 0, M }, { 0, 0, M }, { 0, IMM_8, G }, { INSN_BTC, 0, MD },
	{ 0, 0, M }, { 0, 0, M }, { INSN_MOVSX, 0, M }, { INSN_MOVSX, 0, M },
	[0xc0] = { INSN_XADD, 0, MDB }, { INSN_XADD, 0, MD }, { 0, IMM_8, M },
	{ INSN_MOVNTI, 0, MD | OP_MEM_ONLY },
	{ 0, IMM_8, M }, { 0, IMM_8, M }, { 0, IMM_8, M }, { 0, 0, M },
	[0xc8 ... 0xcf] = { 0, 0, 0 },
	[0xd0 ... 0xff] = { 0, 0, M },
};
/* clang-format on */
