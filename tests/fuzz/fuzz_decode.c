/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/decode.sources -lZydis -lZycore */
/* FUZZ: -max_len=18 */
/*
 * Fuzzes the instruction decoder in all three modes. Checked: the result's
 * invariants, that the length depends on nothing behind the instruction, and
 * that length, operation and operands are those that Zydis finds. Where the
 * two may differ, and why, is said in differs_by_design().
 */
#include <Zydis/Zydis.h>
#include <margay/errno.h>

#include "tests/fuzz/fuzz.h"
#include "vmm/emulate/decode.h"

static ZydisDecoder decoder[3];

static const struct {
	ZydisMachineMode mode;
	ZydisStackWidth width;
} zydis_mode[] = {
	[MODE_16] = { ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16 },
	[MODE_32] = { ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32 },
	[MODE_64] = { ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64 },
};

/* What Zydis calls our operations. */
/* clang-format off */
static const struct {
	u16 mnemonic;
	u8 op;
} names[] = {
	{ ZYDIS_MNEMONIC_MOV, INSN_MOV }, { ZYDIS_MNEMONIC_MOVZX, INSN_MOVZX },
	{ ZYDIS_MNEMONIC_MOVSX, INSN_MOVSX },
	{ ZYDIS_MNEMONIC_MOVSXD, INSN_MOVSX }, { ZYDIS_MNEMONIC_XCHG, INSN_XCHG },
	{ ZYDIS_MNEMONIC_XADD, INSN_XADD },
	{ ZYDIS_MNEMONIC_CMPXCHG, INSN_CMPXCHG }, { ZYDIS_MNEMONIC_CMPXCHG8B, INSN_CMPXCHG8B },
	{ ZYDIS_MNEMONIC_CMPXCHG16B, INSN_CMPXCHG8B }, { ZYDIS_MNEMONIC_AND, INSN_AND },
	{ ZYDIS_MNEMONIC_OR, INSN_OR }, { ZYDIS_MNEMONIC_XOR, INSN_XOR },
	{ ZYDIS_MNEMONIC_ADD, INSN_ADD },
	{ ZYDIS_MNEMONIC_ADC, INSN_ADC }, { ZYDIS_MNEMONIC_SBB, INSN_SBB },
	{ ZYDIS_MNEMONIC_INC, INSN_INC },
	{ ZYDIS_MNEMONIC_DEC, INSN_DEC }, { ZYDIS_MNEMONIC_NOT, INSN_NOT },
	{ ZYDIS_MNEMONIC_NEG, INSN_NEG },
	{ ZYDIS_MNEMONIC_SUB, INSN_SUB }, { ZYDIS_MNEMONIC_CMP, INSN_CMP },
	{ ZYDIS_MNEMONIC_TEST, INSN_TEST },
	{ ZYDIS_MNEMONIC_BT, INSN_BT }, { ZYDIS_MNEMONIC_BTS, INSN_BTS },
	{ ZYDIS_MNEMONIC_BTR, INSN_BTR },
	{ ZYDIS_MNEMONIC_BTC, INSN_BTC }, { ZYDIS_MNEMONIC_MOVSB, INSN_MOVS },
	{ ZYDIS_MNEMONIC_MOVSW, INSN_MOVS },
	{ ZYDIS_MNEMONIC_MOVSD, INSN_MOVS }, { ZYDIS_MNEMONIC_MOVSQ, INSN_MOVS },
	{ ZYDIS_MNEMONIC_STOSB, INSN_STOS },
	{ ZYDIS_MNEMONIC_STOSW, INSN_STOS }, { ZYDIS_MNEMONIC_STOSD, INSN_STOS },
	{ ZYDIS_MNEMONIC_STOSQ, INSN_STOS },
	{ ZYDIS_MNEMONIC_LODSB, INSN_LODS }, { ZYDIS_MNEMONIC_LODSW, INSN_LODS },
	{ ZYDIS_MNEMONIC_LODSD, INSN_LODS },
	{ ZYDIS_MNEMONIC_LODSQ, INSN_LODS }, { ZYDIS_MNEMONIC_INSB, INSN_INS },
	{ ZYDIS_MNEMONIC_INSW, INSN_INS },
	{ ZYDIS_MNEMONIC_INSD, INSN_INS }, { ZYDIS_MNEMONIC_OUTSB, INSN_OUTS },
	{ ZYDIS_MNEMONIC_OUTSW, INSN_OUTS },
	{ ZYDIS_MNEMONIC_OUTSD, INSN_OUTS }, { ZYDIS_MNEMONIC_IN, INSN_IN },
	{ ZYDIS_MNEMONIC_OUT, INSN_OUT },
	{ ZYDIS_MNEMONIC_CLTS, INSN_CLTS }, { ZYDIS_MNEMONIC_LMSW, INSN_LMSW },
	{ ZYDIS_MNEMONIC_SMSW, INSN_SMSW },
	{ ZYDIS_MNEMONIC_CPUID, INSN_CPUID }, { ZYDIS_MNEMONIC_RDMSR, INSN_RDMSR },
	{ ZYDIS_MNEMONIC_WRMSR, INSN_WRMSR },
	{ ZYDIS_MNEMONIC_HLT, INSN_HLT }, { ZYDIS_MNEMONIC_VMMCALL, INSN_VMMCALL },
	{ ZYDIS_MNEMONIC_VMCALL, INSN_VMCALL },
	{ ZYDIS_MNEMONIC_XSETBV, INSN_XSETBV }, { ZYDIS_MNEMONIC_WBINVD, INSN_WBINVD },
	{ ZYDIS_MNEMONIC_INVD, INSN_INVD },
	{ ZYDIS_MNEMONIC_RDTSC, INSN_RDTSC }, { ZYDIS_MNEMONIC_RDTSCP, INSN_RDTSCP },
	{ ZYDIS_MNEMONIC_MOVNTI, INSN_MOVNTI },
	{ ZYDIS_MNEMONIC_MOVUPS, INSN_VECTOR }, { ZYDIS_MNEMONIC_MOVUPD, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_MOVAPS, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_MOVAPD, INSN_VECTOR }, { ZYDIS_MNEMONIC_MOVNTPS, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_MOVNTPD, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_MOVDQA, INSN_VECTOR }, { ZYDIS_MNEMONIC_MOVDQU, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_MOVNTDQ, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_LDDQU, INSN_VECTOR }, { ZYDIS_MNEMONIC_MOVNTDQA, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVUPS, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVUPD, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVAPS, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVAPD, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVNTPS, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVNTPD, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVDQA, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVDQU, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVNTDQ, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VLDDQU, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVNTDQA, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVDQA32, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVDQA64, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVDQU8, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVDQU16, INSN_VECTOR },
	{ ZYDIS_MNEMONIC_VMOVDQU32, INSN_VECTOR }, { ZYDIS_MNEMONIC_VMOVDQU64, INSN_VECTOR },
};
/* clang-format on */

static u8 op_by_name[ZYDIS_MNEMONIC_MAX_VALUE + 1];

static void init(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(zydis_mode); i++)
		CHECK(ZYAN_SUCCESS(
			ZydisDecoderInit(&decoder[i], zydis_mode[i].mode, zydis_mode[i].width)));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		op_by_name[names[i].mnemonic] = names[i].op;
}

static void check_invariants(const u8 *data, size_t size, enum insn_mode mode, const struct insn *a)
{
	struct insn b;

	CHECK(a->len >= 1 && a->len <= INSN_MAX && a->len <= size);
	CHECK(a->opsize == 1 || a->opsize == 2 || a->opsize == 4 || a->opsize == 8 ||
	      (a->opsize == 16 && (a->op == INSN_CMPXCHG8B || a->op == INSN_VECTOR)) ||
	      (a->opsize == 32 && a->op == INSN_VECTOR && (a->vex || a->evex)) ||
	      (a->opsize == 64 && a->op == INSN_VECTOR && a->evex));
	CHECK(a->addrsize == 2 || a->addrsize == 4 || a->addrsize == 8);
	CHECK(a->base < GPR_COUNT && a->index < GPR_COUNT && a->reg < (a->evex ? 32 : GPR_COUNT) &&
	      a->rm < GPR_COUNT);
	CHECK(a->seg <= SEG_GS);
	CHECK(!a->mem || a->scale == 1 || a->scale == 2 || a->scale == 4 || a->scale == 8);
	CHECK(!insn_decode(data, a->len, mode, &b));
	CHECK(b.len == a->len && b.op == a->op && b.imm == a->imm && b.disp == a->disp);
	/* One byte less is not enough, whatever follows. */
	CHECK(insn_decode(data, a->len - 1u, mode, &b) == -EAGAIN);
}

static void differs(const u8 *data, enum insn_mode mode, const char *what, u64 ours, u64 theirs)
{
	fprintf(stderr, "%u-bit mode, bytes", 16u << mode);
	for (unsigned i = 0; i < INSN_MAX; i++)
		fprintf(stderr, " %02x", data[i]);
	fprintf(stderr, ": %s is %#llx here, %#llx by Zydis\n", what, (unsigned long long)ours,
		(unsigned long long)theirs);
	abort();
}

static u8 gpr_of(ZydisRegister r)
{
	ZyanI8 id = ZydisRegisterGetId(r);
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	/* AH, CH, DH, BH are numbered as encoded, SPL and its like after them. */
	if (c == ZYDIS_REGCLASS_GPR8 && r >= ZYDIS_REGISTER_SPL)
		return (u8)(id - 4);
	return (u8)id;
}

static bool is_gpr(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 || c == ZYDIS_REGCLASS_GPR32 ||
	       c == ZYDIS_REGCLASS_GPR64;
}

static enum seg seg_of(ZydisRegister r)
{
	return (enum seg)(r - ZYDIS_REGISTER_ES);
}

#define SAME(what, a, b) \
	do { \
		if ((u64)(a) != (u64)(b)) \
			differs(data, mode, what, (u64)(a), (u64)(b)); \
	} while (0)

/* The memory operand; string instructions have it at their pointer. */
static void check_memory(const u8 *data, enum insn_mode mode, const struct insn *a,
			 const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	bool has_base = o->mem.base && o->mem.base != ZYDIS_REGISTER_RIP &&
			o->mem.base != ZYDIS_REGISTER_EIP;
	u64 mask = a->addrsize == 8 ? ~0ull : BIT(a->addrsize * 8) - 1;

	/*
	 * No base, says the SDM (vol. 2, table 2-5), whatever REX.B; with 67 and REX.B Zydis 4.0
	 * has R13D, and no displacement.
	 */
	if (a->addrsize == 4 && z->raw.modrm.mod == 0 && z->raw.sib.base == 5 &&
	    o->mem.base == ZYDIS_REGISTER_R13D && !a->has_base)
		return;
	SAME("address size", a->addrsize * 8, z->address_width);
	SAME("segment", a->seg, seg_of(o->mem.segment));
	SAME("has a base", a->has_base, has_base);
	if (has_base)
		SAME("base", a->base, gpr_of(o->mem.base));
	SAME("RIP-relative", a->rip_relative, o->mem.base && !has_base);
	SAME("has an index", a->has_index, o->mem.index != ZYDIS_REGISTER_NONE);
	if (a->has_index) {
		SAME("index", a->index, gpr_of(o->mem.index));
		SAME("scale", a->scale, o->mem.scale);
	}
	SAME("displacement", (u64)a->disp & mask,
	     (o->mem.disp.has_displacement ? (u64)o->mem.disp.value : 0) & mask);
}

static void check_operands(const u8 *data, enum insn_mode mode, const struct insn *a,
			   const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops)
{
	u64 mask = a->opsize >= 8 ? ~0ull : BIT(a->opsize * 8) - 1;
	bool seen_memory = false;

	for (unsigned i = 0; i < z->operand_count; i++) {
		const ZydisDecodedOperand *o = &ops[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !seen_memory) {
			/* MOVS has two: ours is the source. */
			if (a->op == INSN_MOVS && o->mem.base && gpr_of(o->mem.base) == GPR_RDI)
				continue;
			seen_memory = true;
			SAME("has a memory operand", a->mem, true);
			check_memory(data, mode, a, z, o);
			/*
			 * MOVSXD with a 16-bit destination reads 16 bits by the SDM, 32 by Zydis.
			 */
			if (a->op != INSN_LMSW && a->op != INSN_SMSW &&
			    !(z->mnemonic == ZYDIS_MNEMONIC_MOVSXD && a->dstsize == 2))
				SAME("operand size", a->opsize * 8, o->size);
		} else if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && a->op != INSN_IN &&
			   a->op != INSN_OUT) {
			SAME("has an immediate", a->has_imm, true);
			SAME("immediate", a->imm & mask, o->imm.value.u & mask);
		} else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			   o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && a->mem &&
			   is_gpr(o->reg.value) && a->has_modrm) {
			SAME("register", a->reg, gpr_of(o->reg.value));
		} else if (a->op == INSN_VECTOR && o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			   ZydisRegisterGetClass(o->reg.value) != ZYDIS_REGCLASS_MASK) {
			SAME("vector register", a->reg, ZydisRegisterGetId(o->reg.value));
			SAME("vector register's size", a->opsize * 8, o->size);
			SAME("VEX", a->vex, z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX);
			SAME("EVEX", a->evex, z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX);
		}
	}
	if (!seen_memory)
		SAME("has a memory operand", a->mem, false);
	if (a->mem && a->has_modrm && a->op != INSN_LMSW && a->op != INSN_SMSW)
		SAME("memory is the first operand", a->to_mem,
		     ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY);
	if (a->op == INSN_MOV_CR) {
		bool reads = !(ZydisRegisterGetClass(ops[0].reg.value) == ZYDIS_REGCLASS_CONTROL);

		SAME("direction", a->to_mem, reads);
		SAME("control register", a->reg, ZydisRegisterGetId(ops[reads].reg.value));
		SAME("general register", a->rm, gpr_of(ops[!reads].reg.value));
	}
	if (z->mnemonic == ZYDIS_MNEMONIC_MOVZX || z->mnemonic == ZYDIS_MNEMONIC_MOVSX ||
	    z->mnemonic == ZYDIS_MNEMONIC_MOVSXD)
		SAME("destination's size", a->dstsize * 8, ops[0].size);
}

static bool has_class(const ZydisDecodedOperand *ops, unsigned n, ZydisRegisterClass c)
{
	for (unsigned i = 0; i < n; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(ops[i].reg.value) == c)
			return true;
	return false;
}

static u8 expected_op(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops)
{
	u8 op = op_by_name[z->mnemonic];

	if (op == INSN_VECTOR && (z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
				  (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
				   z->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED)))
		return op;
	/* The same names are other instructions in other maps. */
	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
	    (op == INSN_MOVS && z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT))
		return INSN_OTHER;
	if (op == INSN_MOV && has_class(ops, z->operand_count, ZYDIS_REGCLASS_CONTROL))
		return INSN_MOV_CR;
	return op;
}

/*
 * Operations that we leave alone as INSN_OTHER: of registers only, or of segment and debug
 * registers.
 */
static bool not_emulated(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops)
{
	bool memory = false;

	for (unsigned i = 0; i < z->operand_count; i++)
		memory |= ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
	return !memory || has_class(ops, z->operand_count, ZYDIS_REGCLASS_SEGMENT) ||
	       has_class(ops, z->operand_count, ZYDIS_REGCLASS_DEBUG);
}

/*
 * Undefined encodings that the CPU has refused before the monitor sees them, as decode.h says:
 * prefixes and register numbers that instructions without a memory operand, and MOVNTI, do not
 * have.
 */
static bool cpu_refuses(const struct insn *a)
{
	return !a->mem || a->op == INSN_MOVNTI;
}

/* The coprocessor of 2012 had encodings of its own, which no CPU with VT-x or SVM shares. */
static bool knights_corner(const ZydisDecodedInstruction *z)
{
	switch (z->meta.isa_set) {
	case ZYDIS_ISA_SET_KNCE:
	case ZYDIS_ISA_SET_KNCJKBR:
	case ZYDIS_ISA_SET_KNCSTREAM:
	case ZYDIS_ISA_SET_KNCV:
	case ZYDIS_ISA_SET_KNC_MISC:
	case ZYDIS_ISA_SET_KNC_PF_HINT: return true;
	default: return z->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX;
	}
}

/* VIA's cryptographic instructions, which work on memory that no device is behind. */
static bool padlock(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_PADLOCK;
}

/* XOP.R or XOP.X of 0 outside 64-bit mode: the APM does not say what it means. */
static bool xop_by_halves(const u8 *bytes, const ZydisDecodedInstruction *z, enum insn_mode mode)
{
	unsigned i = 0;

	while (i < INSN_MAX - 1u && bytes[i] != 0x8f)
		i++;
	return z->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP && mode != MODE_64 &&
	       bytes[i + 1] >> 6 != 3;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static bool ready;
	u8 bytes[INSN_MAX];

	if (!ready)
		init();
	ready = true;
	if (size < INSN_MAX) {
		/* Zydis gets as much as we do; its error text needs the rest. */
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, data, size);
	} else {
		memcpy(bytes, data, sizeof(bytes));
	}
	for (enum insn_mode mode = MODE_16; mode <= MODE_64; mode++) {
		ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction z;
		struct insn a;
		int err = insn_decode(data, (unsigned)size, mode, &a);
		bool theirs;

		if (!err)
			check_invariants(data, size, mode, &a);
		memset(ops, 0, sizeof(ops));
		theirs = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder[mode], bytes,
							     MIN(size, sizeof(bytes)), &z, ops));
		if (err) {
			if (theirs && !knights_corner(&z) && !padlock(&z) &&
			    !xop_by_halves(bytes, &z, mode))
				differs(bytes, mode, "error", (u64)-err, 0);
			continue;
		}
		if (!theirs) {
			if (a.op != INSN_OTHER && !cpu_refuses(&a))
				differs(bytes, mode, "operation", a.op, ~0ull);
			continue;
		}
		if (knights_corner(&z))
			continue;
		if (a.len != z.length)
			differs(bytes, mode, "length", a.len, z.length);
		if (a.op != expected_op(&z, ops) && !(a.op == INSN_OTHER && not_emulated(&z, ops)))
			differs(bytes, mode, "operation", a.op, expected_op(&z, ops));
		if (a.op != INSN_OTHER)
			check_operands(bytes, mode, &a, &z, ops);
	}
	return 0;
}
