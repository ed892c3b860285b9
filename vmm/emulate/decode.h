/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the x86-64 instruction decoder. It finds the length of any
 * instruction the monitor may meet at an exit, and the operands of those it
 * emulates. SDM vol. 2, chapter 2 and appendix A.
 */
#ifndef VMM_DECODE_H
#define VMM_DECODE_H

#include <margay/types.h>
#include <margay/x86.h>

#define INSN_MAX 15

enum insn_op {
	INSN_OTHER,   /* known length, not emulated */
	INSN_MOV,     /* r<->m, imm->m, moffs: 88-8b, a0-a3, c6, c7 */
	INSN_MOVZX,   /* 0f b6, b7 */
	INSN_MOVSX,   /* 0f be, bf, 63 */
	INSN_XCHG,    /* 86, 87; LOCK may stand before this one to BTC */
	/* 0f c0, c1, b0, b1; c7 /1, of 8 bytes or by REX.W 16, as opsize says */
	INSN_XADD,
	INSN_CMPXCHG,
	INSN_CMPXCHG8B,
	/* with a memory operand, as those that follow */
	INSN_AND,
	INSN_OR,
	INSN_XOR,
	INSN_ADD,
	INSN_ADC,
	INSN_SUB,
	INSN_SBB,
	INSN_INC,
	INSN_DEC,
	INSN_NOT,
	INSN_NEG,
	/* 0f ba, 0f ab/b3/bb */
	INSN_BTS,
	INSN_BTR,
	INSN_BTC,
	/* flags alone; arithmetic.c goes by the order from INSN_AND to here */
	INSN_BT,
	INSN_CMP,
	INSN_TEST,
	/* string moves */
	INSN_MOVS,
	INSN_STOS,
	INSN_LODS,
	INSN_INS,
	INSN_OUTS,
	INSN_IN,
	INSN_OUT,
	INSN_MOV_CR,  /* 0f 20, 0f 22: reg = cr number, rm = general register */
	INSN_CLTS,
	INSN_LMSW,
	INSN_SMSW,
	INSN_CPUID,
	INSN_RDMSR,
	INSN_WRMSR,
	INSN_HLT,
	INSN_VMMCALL,
	INSN_VMCALL,
	INSN_XSETBV,
	INSN_WBINVD,
	INSN_INVD,
	INSN_RDTSC,
	INSN_RDTSCP,
	INSN_MOVNTI,
	INSN_VECTOR,  /* a whole vector register and memory: decode_vector.c has the opcodes */
};

/* The mode the instruction runs in. */
enum insn_mode { MODE_16, MODE_32, MODE_64 };

struct insn {
	enum insn_op op;
	enum insn_mode mode; /* as given */
	u8 len;            /* whole instruction, 1..15 */
	/*
	 * operand size in bytes: 1, 2, 4, 8 (memory operand's for movzx/movsx); CMPXCHG16B,
	 * vectors: up to 64
	 */
	u8 opsize;
	u8 dstsize; /* destination register's size for movzx/movsx */
	u8 addrsize; /* 2, 4, 8 */
	bool rep;
	bool repne;
	bool lock;
	/* mem: there is a memory operand */
	bool has_modrm;
	bool mem;
	/*
	 * The r/m operand is the first one: the destination, or for CMP, TEST and
	 * BT the left one. Also of registers: MOV_CR with to_mem reads the CR.
	 */
	bool to_mem;
	bool has_imm;
	bool rex; /* a REX prefix is present: byte registers 4-7 are SPL..DIL */
	/* INSN_VECTOR: by which prefix, if not as in SSE; */
	bool vex;
	bool evex;
	bool aligned; /* its operand must be aligned to its size; reg is 0 to 31 with EVEX */
	u8 reg; /* register operand, REX applied; control register number for MOV_CR */
	u8 rm; /* register in r/m when !mem, REX applied */
	/*
	 * Segment of the memory operand, overrides applied. String instructions:
	 * the source's at rSI for MOVS, LODS and OUTS (base = RSI); ES for STOS and
	 * INS (base = RDI). The second operand of MOVS is ES:rDI.
	 */
	enum seg seg;
	bool rip_relative;
	bool has_base;
	bool has_index;
	/* effective address = base + index * scale + disp, cut to addrsize; scale 1, 2, 4, 8 */
	u8 base;
	u8 index;
	u8 scale;

	s64 disp;
	u64 imm; /* sign-extended to the operand size where the instruction does so */
};

/*
 * Decodes one instruction from `size` available bytes. 0; -EAGAIN when it
 * does not end within them (and size < 15); -EINVAL when it is undefined,
 * longer than 15 bytes, or not known. Of INSN_OTHER only len and the prefixes
 * mean anything. Undefined encodings of instructions that cannot exit are not
 * all refused: the CPU has raised #UD on them before the monitor sees them.
 */
int insn_decode(const u8 *bytes, unsigned size, enum insn_mode mode, struct insn *out);

/* The low `size` bytes: 1, 2, 4 or 8. */
static inline u64 insn_truncate(u64 value, unsigned size)
{
	return size == 8 ? value : value & (BIT(size * 8) - 1);
}

static inline u64 insn_sign_extend(u64 value, unsigned size)
{
	unsigned shift = 64 - size * 8;

	return (u64)((s64)(value << shift) >> shift);
}

#endif
