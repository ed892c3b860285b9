/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/decode.sources */
/*
 * Instruction decoder: lengths against objdump (decode_vectors.h), operands
 * against encodings worked out from SDM vol. 2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/emulate/decode.h"

struct length_vector {
	enum insn_mode mode;
	unsigned len;
	const char *bytes;
};

static const struct length_vector vectors[] = {
#include "decode_vectors.h"
};

/* Decodes from a heap copy of exactly `size` bytes, so that ASan sees any read past them. */
static int decode_exact(const void *bytes, unsigned size, enum insn_mode mode, struct insn *out)
{
	u8 *copy = malloc(size ? size : 1);
	int err;

	memcpy(copy, bytes, size);
	err = insn_decode(copy, size, mode, out);
	free(copy);
	return err;
}

static void lengths_agree_with_objdump(void **)
{
	assert_true(ARRAY_SIZE(vectors) > 3000);
	for (unsigned i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct length_vector *v = &vectors[i];
		struct insn insn;

		if (decode_exact(v->bytes, v->len, v->mode, &insn) || insn.len != v->len)
			fail_msg("vector %u: length %u, expected %u", i, insn.len, v->len);
		/* Bytes that follow change nothing; a byte less is never a whole instruction. */
		if (v->len > 1)
			assert_int_equal(decode_exact(v->bytes, v->len - 1, v->mode, &insn),
					 -EAGAIN);
	}
}

#define DECODE(mode, insn, ...) \
	do { \
		static const u8 b_[] = { __VA_ARGS__ }; \
		assert_int_equal(decode_exact(b_, sizeof(b_), mode, insn), 0); \
		assert_int_equal((insn)->len, sizeof(b_)); \
	} while (0)

#define REFUSED(mode, ...) \
	do { \
		static const u8 b_[INSN_MAX] = { __VA_ARGS__ }; \
		struct insn i_; \
		assert_int_equal(decode_exact(b_, sizeof(b_), mode, &i_), -EINVAL); \
	} while (0)

static void mov_to_lapic(void **)
{
	struct insn i;

	/* mov [0xffffffffff5fc0b0], edi: native_apic_mem_write as Linux compiles it */
	DECODE(MODE_64, &i, 0x89, 0x3c, 0x25, 0xb0, 0xc0, 0x5f, 0xff);
	assert_int_equal(i.op, INSN_MOV);
	assert_true(i.mem && i.to_mem && i.has_modrm && !i.has_base && !i.has_index &&
		    !i.rip_relative && !i.has_imm);
	assert_int_equal(i.reg, GPR_RDI);
	assert_int_equal(i.opsize, 4);
	assert_int_equal(i.addrsize, 8);
	assert_int_equal(i.seg, SEG_DS);
	assert_true(i.disp == (s64)0xffffffffff5fc0b0);
	/* mov r9b, [r12 + r13*4 - 8] */
	DECODE(MODE_64, &i, 0x47, 0x8a, 0x4c, 0xac, 0xf8);
	assert_int_equal(i.op, INSN_MOV);
	assert_true(i.mem && !i.to_mem && i.rex && i.has_base && i.has_index);
	assert_int_equal(i.opsize, 1);
	assert_int_equal(i.reg, GPR_R9);
	assert_int_equal(i.base, GPR_R12);
	assert_int_equal(i.index, GPR_R13);
	assert_int_equal(i.scale, 4);
	assert_true(i.disp == -8);
	/* mov qword [rip + 0x10], -2 */
	DECODE(MODE_64, &i, 0x48, 0xc7, 0x05, 0x10, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff);
	assert_true(i.rip_relative && i.has_imm && i.to_mem && i.mem);
	assert_int_equal(i.opsize, 8);
	assert_true(i.disp == 0x10 && i.imm == (u64)-2);
	/* mov word [bx + si + 0x1234], 0xfffe in 16-bit mode */
	DECODE(MODE_16, &i, 0xc7, 0x80, 0x34, 0x12, 0xfe, 0xff);
	assert_int_equal(i.opsize, 2);
	assert_int_equal(i.addrsize, 2);
	assert_int_equal(i.base, GPR_RBX);
	assert_int_equal(i.index, GPR_RSI);
	assert_true(i.disp == 0x1234 && i.imm == 0xfffe);
	/* mov ah, [ebp - 1] in 32-bit mode: SS by default, no REX */
	DECODE(MODE_32, &i, 0x8a, 0x65, 0xff);
	assert_int_equal(i.seg, SEG_SS);
	assert_int_equal(i.reg, 4);
	assert_false(i.rex);
	/* mov [rsp], al: SIB with base RSP, no index */
	DECODE(MODE_64, &i, 0x88, 0x04, 0x24);
	assert_true(i.has_base && !i.has_index);
	assert_int_equal(i.base, GPR_RSP);
	assert_int_equal(i.seg, SEG_SS);
}

static void moffs(void **)
{
	struct insn i;

	/* movabs eax, [0xfee000b0] */
	DECODE(MODE_64, &i, 0xa1, 0xb0, 0x00, 0xe0, 0xfe, 0, 0, 0, 0);
	assert_int_equal(i.op, INSN_MOV);
	assert_true(i.mem && !i.to_mem && !i.has_modrm && !i.has_imm && !i.has_base);
	assert_int_equal(i.reg, GPR_RAX);
	assert_int_equal(i.opsize, 4);
	assert_true(i.disp == 0xfee000b0);
	/* mov fs:[0x1234], al in 32-bit mode with 16-bit addresses */
	DECODE(MODE_32, &i, 0x64, 0x67, 0xa2, 0x34, 0x12);
	assert_true(i.mem && i.to_mem && i.disp == 0x1234);
	assert_int_equal(i.seg, SEG_FS);
	assert_int_equal(i.opsize, 1);
}

static void extending_moves(void **)
{
	struct insn i;

	/* movzx eax, byte [rdi] */
	DECODE(MODE_64, &i, 0x0f, 0xb6, 0x07);
	assert_int_equal(i.op, INSN_MOVZX);
	assert_int_equal(i.opsize, 1);
	assert_int_equal(i.dstsize, 4);
	/* movsx rax, word [rdi] */
	DECODE(MODE_64, &i, 0x48, 0x0f, 0xbf, 0x07);
	assert_int_equal(i.op, INSN_MOVSX);
	assert_int_equal(i.opsize, 2);
	assert_int_equal(i.dstsize, 8);
	/* movsxd r8, dword [rdi] */
	DECODE(MODE_64, &i, 0x4c, 0x63, 0x07);
	assert_int_equal(i.op, INSN_MOVSX);
	assert_int_equal(i.opsize, 4);
	assert_int_equal(i.dstsize, 8);
	assert_int_equal(i.reg, GPR_R8);
	assert_false(i.to_mem);
	/* arpl [edi], ax: the same opcode in 32-bit mode */
	DECODE(MODE_32, &i, 0x63, 0x07);
	assert_int_equal(i.op, INSN_OTHER);
}

static void arithmetic(void **)
{
	struct insn i;

	/* lock or dword [rax], 0x80 sign-extended from a byte */
	DECODE(MODE_64, &i, 0xf0, 0x83, 0x08, 0x80);
	assert_int_equal(i.op, INSN_OR);
	assert_true(i.lock && i.to_mem && i.mem && i.has_imm);
	assert_true(i.imm == 0xffffff80);
	/* cmp byte [rax], 0x80: not extended beyond its size */
	DECODE(MODE_64, &i, 0x80, 0x38, 0x80);
	assert_int_equal(i.op, INSN_CMP);
	assert_true(i.imm == 0x80);
	assert_int_equal(i.opsize, 1);
	/* cmp [rax], ecx against cmp ecx, [rax] */
	DECODE(MODE_64, &i, 0x39, 0x08);
	assert_true(i.op == INSN_CMP && i.to_mem);
	DECODE(MODE_64, &i, 0x3b, 0x08);
	assert_true(i.op == INSN_CMP && !i.to_mem);
	/* test dword [rax], 0x1000 */
	DECODE(MODE_64, &i, 0xf7, 0x00, 0x00, 0x10, 0, 0);
	assert_true(i.op == INSN_TEST && i.has_imm && i.imm == 0x1000);
	/*
	 * not dword [rax], lock neg byte [rax]: the same opcodes, no immediate; mul dword [rax]:
	 * not emulated
	 */
	DECODE(MODE_64, &i, 0xf7, 0x10);
	assert_true(i.op == INSN_NOT && !i.has_imm && i.to_mem && i.opsize == 4);
	DECODE(MODE_64, &i, 0xf0, 0xf6, 0x18);
	assert_true(i.op == INSN_NEG && !i.has_imm && i.to_mem && i.opsize == 1);
	DECODE(MODE_64, &i, 0xf7, 0x20);
	assert_true(i.op == INSN_OTHER);
	/* lock adc [rax], rcx; sbb cl, [rax]; sbb word [rax], -2 */
	DECODE(MODE_64, &i, 0xf0, 0x48, 0x11, 0x08);
	assert_true(i.op == INSN_ADC && i.to_mem && i.opsize == 8 && i.reg == GPR_RCX);
	DECODE(MODE_64, &i, 0x1a, 0x08);
	assert_true(i.op == INSN_SBB && !i.to_mem && i.opsize == 1);
	REFUSED(MODE_64, 0xf0, 0x1b, 0x08);
	DECODE(MODE_64, &i, 0x66, 0x83, 0x18, 0xfe);
	assert_true(i.op == INSN_SBB && i.to_mem && i.opsize == 2 && i.imm == 0xfffe);
	/*
	 * lock inc byte [rax]; dec qword [rax]; call [rax] is of the same group, FE /2 is nothing
	 */
	DECODE(MODE_64, &i, 0xf0, 0xfe, 0x00);
	assert_true(i.op == INSN_INC && i.opsize == 1);
	DECODE(MODE_64, &i, 0x48, 0xff, 0x08);
	assert_true(i.op == INSN_DEC && i.opsize == 8);
	DECODE(MODE_64, &i, 0xff, 0x10);
	assert_true(i.op == INSN_OTHER);
	REFUSED(MODE_64, 0xfe, 0x10);
	/* and qword [rax], imm32 */
	DECODE(MODE_64, &i, 0x48, 0x81, 0x20, 0xff, 0xff, 0xff, 0x7f);
	assert_true(i.op == INSN_AND && i.opsize == 8 && i.imm == 0x7fffffff);
	/* bts dword [rax], 31; btr [rax], rcx */
	DECODE(MODE_64, &i, 0x0f, 0xba, 0x28, 31);
	assert_true(i.op == INSN_BTS && i.imm == 31 && i.has_imm && i.to_mem);
	DECODE(MODE_64, &i, 0x48, 0x0f, 0xb3, 0x08);
	assert_true(i.op == INSN_BTR && i.opsize == 8 && i.reg == GPR_RCX && !i.has_imm &&
		    i.to_mem);
	/* xchg [rdx], bl */
	DECODE(MODE_64, &i, 0x86, 0x1a);
	assert_true(i.op == INSN_XCHG && i.opsize == 1 && i.to_mem && i.mem);
	/* movnti [rdi], rax */
	DECODE(MODE_64, &i, 0x48, 0x0f, 0xc3, 0x07);
	assert_true(i.op == INSN_MOVNTI && i.opsize == 8 && i.to_mem);
}

static void strings_and_ports(void **)
{
	struct insn i;

	/* rep movsd with an FS source */
	DECODE(MODE_64, &i, 0x64, 0xf3, 0xa5);
	assert_true(i.op == INSN_MOVS && i.rep && i.opsize == 4 && i.seg == SEG_FS &&
		    i.base == GPR_RSI && i.mem);
	/* rep stosq: ES whatever the override says */
	DECODE(MODE_64, &i, 0x65, 0xf3, 0x48, 0xab);
	assert_true(i.op == INSN_STOS && i.opsize == 8 && i.seg == SEG_ES && i.base == GPR_RDI &&
		    i.to_mem);
	/* lodsb */
	DECODE(MODE_64, &i, 0xac);
	assert_true(i.op == INSN_LODS && i.opsize == 1 && i.seg == SEG_DS && !i.rep && !i.to_mem);
	/* rep outsb, rep insw */
	DECODE(MODE_32, &i, 0xf3, 0x6e);
	assert_true(i.op == INSN_OUTS && i.rep && i.opsize == 1 && i.base == GPR_RSI);
	DECODE(MODE_32, &i, 0x66, 0xf3, 0x6d);
	assert_true(i.op == INSN_INS && i.opsize == 2 && i.seg == SEG_ES);
	/* in al, 0x71; out dx, eax; REX.W does not widen a port */
	DECODE(MODE_64, &i, 0xe4, 0x71);
	assert_true(i.op == INSN_IN && i.opsize == 1 && i.has_imm && i.imm == 0x71);
	DECODE(MODE_64, &i, 0x48, 0xef);
	assert_true(i.op == INSN_OUT && i.opsize == 4 && !i.has_imm);
	/* out 0xed, al: no sign extension of a port */
	DECODE(MODE_64, &i, 0xe6, 0xed);
	assert_true(i.op == INSN_OUT && i.imm == 0xed);
}

static void system_instructions(void **)
{
	struct insn i;

	/* mov cr8, r15; mov rax, cr0 with a mod that is ignored */
	DECODE(MODE_64, &i, 0x45, 0x0f, 0x22, 0xc7);
	assert_true(i.op == INSN_MOV_CR && i.reg == 8 && i.rm == GPR_R15 && !i.to_mem &&
		    i.opsize == 8 && !i.mem);
	DECODE(MODE_64, &i, 0x0f, 0x20, 0x05);
	assert_true(i.op == INSN_MOV_CR && i.reg == 0 && i.rm == GPR_RBP && i.to_mem && !i.mem);
	/* AMD: lock mov eax, cr0 is mov eax, cr8 */
	DECODE(MODE_32, &i, 0xf0, 0x0f, 0x20, 0xc0);
	assert_true(i.op == INSN_MOV_CR && i.reg == 8 && i.opsize == 4);
	REFUSED(MODE_32, 0xf0, 0x0f, 0x20, 0xd8);
	DECODE(MODE_64, &i, 0x0f, 0xa2);
	assert_int_equal(i.op, INSN_CPUID);
	DECODE(MODE_64, &i, 0x0f, 0x32);
	assert_int_equal(i.op, INSN_RDMSR);
	DECODE(MODE_64, &i, 0x0f, 0x30);
	assert_int_equal(i.op, INSN_WRMSR);
	DECODE(MODE_64, &i, 0xf4);
	assert_int_equal(i.op, INSN_HLT);
	DECODE(MODE_64, &i, 0x0f, 0x01, 0xc1);
	assert_int_equal(i.op, INSN_VMCALL);
	DECODE(MODE_64, &i, 0x0f, 0x01, 0xd9);
	assert_int_equal(i.op, INSN_VMMCALL);
	DECODE(MODE_64, &i, 0x0f, 0x01, 0xd1);
	assert_int_equal(i.op, INSN_XSETBV);
	DECODE(MODE_64, &i, 0x0f, 0x01, 0xf9);
	assert_int_equal(i.op, INSN_RDTSCP);
	DECODE(MODE_64, &i, 0x0f, 0x01, 0xf8); /* swapgs */
	assert_int_equal(i.op, INSN_OTHER);
	DECODE(MODE_64, &i, 0x0f, 0x01, 0x38); /* invlpg [rax] */
	assert_int_equal(i.op, INSN_OTHER);
	DECODE(MODE_64, &i, 0x0f, 0x06);
	assert_int_equal(i.op, INSN_CLTS);
	DECODE(MODE_32, &i, 0x0f, 0x01, 0xf1); /* lmsw cx */
	assert_true(i.op == INSN_LMSW && i.rm == GPR_RCX && !i.mem && i.opsize == 2);
	DECODE(MODE_32, &i, 0x0f, 0x01, 0x21); /* smsw [ecx] */
	assert_true(i.op == INSN_SMSW && i.mem && i.opsize == 2);
	DECODE(MODE_64, &i, 0x0f, 0x09);
	assert_int_equal(i.op, INSN_WBINVD);
	DECODE(MODE_64, &i, 0xf3, 0x0f, 0x09); /* wbnoinvd */
	assert_int_equal(i.op, INSN_WBINVD);
	DECODE(MODE_64, &i, 0x0f, 0x31);
	assert_int_equal(i.op, INSN_RDTSC);
}

static void prefixes(void **)
{
	struct insn i;

	/* A REX prefix that another prefix follows has no effect. */
	DECODE(MODE_64, &i, 0x48, 0x66, 0x89, 0x00);
	assert_true(i.opsize == 2 && !i.rex);
	/* DS does not cancel FS in 64-bit mode, but does in 32-bit mode. */
	DECODE(MODE_64, &i, 0x64, 0x3e, 0x89, 0x00);
	assert_int_equal(i.seg, SEG_FS);
	DECODE(MODE_32, &i, 0x64, 0x3e, 0x89, 0x00);
	assert_int_equal(i.seg, SEG_DS);
	/* All six of them. */
	static const u8 prefix[] = { [SEG_ES] = 0x26, [SEG_CS] = 0x2e, [SEG_SS] = 0x36,
				     [SEG_DS] = 0x3e, [SEG_FS] = 0x64, [SEG_GS] = 0x65 };

	for (unsigned n = 0; n < ARRAY_SIZE(prefix); n++) {
		const u8 mov[] = { prefix[n], 0x89, 0x00 };

		assert_int_equal(insn_decode(mov, sizeof(mov), MODE_32, &i), 0);
		assert_int_equal(i.seg, n);
	}
	/* Address size: eax + 32-bit displacement; 16 bits in 32-bit mode. */
	DECODE(MODE_64, &i, 0x67, 0x89, 0x00);
	assert_int_equal(i.addrsize, 4);
	DECODE(MODE_32, &i, 0x67, 0x89, 0x06, 0x00, 0xf0);
	assert_true(i.addrsize == 2 && !i.has_base && i.disp == (s64)0xfffffffffffff000);
	/* The last of F2 and F3 counts. */
	DECODE(MODE_64, &i, 0xf2, 0xf3, 0xa4);
	assert_true(i.rep && !i.repne);
}

static void refused(void **)
{
	u8 long_insn[32];
	struct insn i;

	REFUSED(MODE_64, 0x06); /* push es */
	REFUSED(MODE_64, 0xea); /* far jmp */
	REFUSED(MODE_64, 0x0f, 0x04);
	REFUSED(MODE_64, 0xf0, 0x89, 0x00); /* lock mov */
	REFUSED(MODE_64, 0xf0, 0x01, 0xc0); /* lock add with a register */
	REFUSED(MODE_64, 0xf0, 0x03, 0x00); /* lock add register, memory */
	REFUSED(MODE_64, 0xf0, 0x0f, 0xa2); /* lock cpuid */
	REFUSED(MODE_64, 0xc7, 0x48); /* c7 /1 */
	REFUSED(MODE_64, 0x0f, 0xc3, 0xc0); /* movnti with a register */
	REFUSED(MODE_64, 0x0f, 0xba, 0x00); /* 0f ba /0 */
	REFUSED(MODE_64, 0x66, 0xc5, 0xf8, 0x77); /* a prefix before VEX */
	/*
	 * 15 bytes are the limit, however many there are: 14 prefixes and NOP, then one prefix
	 * more.
	 */
	memset(long_insn, 0x66, sizeof(long_insn));
	long_insn[14] = 0x90;
	assert_int_equal(decode_exact(long_insn, sizeof(long_insn), MODE_64, &i), 0);
	assert_int_equal(i.len, 15);
	long_insn[14] = 0x66;
	long_insn[15] = 0x90;
	assert_int_equal(decode_exact(long_insn, sizeof(long_insn), MODE_64, &i), -EINVAL);
	assert_int_equal(decode_exact(long_insn, 14, MODE_64, &i), -EAGAIN);
	assert_int_equal(decode_exact(long_insn, 0, MODE_64, &i), -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_agree_with_objdump),
		cmocka_unit_test(mov_to_lapic),
		cmocka_unit_test(moffs),
		cmocka_unit_test(extending_moves),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(strings_and_ports),
		cmocka_unit_test(system_instructions),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
