/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/vector.c @tests/unit/decode.sources tests/unit/fake_host.c */
/*
 * Moves of vector registers with device memory: which register, how many bytes, what becomes of its
 * upper half, and when the guest would not have come so far (SDM vol. 2, tables 2-18 to 2-27:
 * CR0.TS and EM, CR4.OSFXSR and OSXSAVE, XCR0). The registers are memory here; those of the CPU:
 * the guest vectors. The opcodes: the decoder's fuzzer, by Zydis.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_host.h"
#include "vmm/emulate/emulate.h"

static struct vcpu vcpu;
static struct hvm_context context;
static u8 memory[64];
static u64 gva;
static unsigned moved; /* bytes */
static int fault;

static void get_context(struct vcpu *, struct hvm_context *c)
{
	*c = context;
}

static const struct hvm_ops ops = { .get_context = get_context };
const struct hvm_ops *hvm = &ops;

u64 emulate_operand(struct vcpu *, const struct insn *)
{
	return gva;
}

int emulate_mem_read_bytes(struct vcpu *, u64 at, unsigned size, void *bytes)
{
	assert_int_equal(at, gva);
	moved = size;
	memcpy(bytes, memory, size);
	return fault;
}

int emulate_mem_write_bytes(struct vcpu *, u64 at, unsigned size, const void *bytes)
{
	assert_int_equal(at, gva);
	moved = size;
	memcpy(memory, bytes, size);
	return fault;
}

#define CR0_GOOD (CR0_PG | CR0_PE | CR0_MP)
#define CR4_GOOD (CR4_PAE | CR4_OSFXSR | CR4_OSXSAVE)

static int setup(void **)
{
	fake_host_reset();
	memset(&vcpu, 0, sizeof(vcpu));
	context = (struct hvm_context){ .cr0 = CR0_GOOD, .cr4 = CR4_GOOD };
	vcpu.xcr0 = 0xe7;
	gva = 0x10000;
	fault = 0;
	moved = 0;
	for (unsigned r = 0; r < 32; r++)
		for (unsigned i = 0; i < 64; i++)
			fake_host.vector_register[r][i] = (u8)(r * 16 + i);
	for (unsigned i = 0; i < 64; i++)
		memory[i] = (u8)(0xff - i);
	return 0;
}

/*
 * One whose ModRM is (%rdi), with the register's lower bits; its upper ones by REX.R, VEX.R, or
 * EVEX.R and R'.
 */
static int run(const u8 *bytes, unsigned n, unsigned reg)
{
	u8 b[INSN_MAX] = { 0 };
	struct insn insn;
	unsigned at = 0;
	bool vex = bytes[0] == 0xc5 || bytes[0] == 0xc4, evex = bytes[0] == 0x62;

	if (!vex && !evex && (bytes[0] == 0x66 || bytes[0] == 0xf3 || bytes[0] == 0xf2))
		b[at++] = *bytes++, n--;
	if (!vex && !evex && reg & 8)
		b[at++] = 0x44;
	memcpy(b + at, bytes, n);
	if ((vex || evex) && reg & 8)
		b[at + 1] &= 0x7f;
	if (evex && reg & 16)
		b[at + 1] &= 0xef;
	b[at + n] = (u8)((reg & 7) << 3 | GPR_RDI);
	assert_int_equal(insn_decode(b, sizeof(b), MODE_64, &insn), 0);
	assert_true(insn.op == INSN_VECTOR && insn.len == at + n + 1 && insn.reg == reg);
	return emulate_vector(&vcpu, &insn);
}

/* clang-format off */
static const struct {
	u8 bytes[5];
	unsigned n;
	unsigned size;
	/* and EVEX */
	bool store;
	bool aligned;
	bool vex;
} moves[] = {
	{ { 0x0f, 0x10 }, 2, 16, false, false, false },
	{ { 0x0f, 0x11 }, 2, 16, true, false, false },
	{ { 0x66, 0x0f, 0x10 }, 3, 16, false, false, false },
	{ { 0x66, 0x0f, 0x11 }, 3, 16, true, false, false },
	{ { 0x0f, 0x28 }, 2, 16, false, true, false }, { { 0x0f, 0x29 }, 2, 16, true, true, false },
	{ { 0x66, 0x0f, 0x28 }, 3, 16, false, true, false },
	{ { 0x66, 0x0f, 0x29 }, 3, 16, true, true, false },
	{ { 0x0f, 0x2b }, 2, 16, true, true, false },
	{ { 0x66, 0x0f, 0x2b }, 3, 16, true, true, false },
	{ { 0x66, 0x0f, 0x6f }, 3, 16, false, true, false },
	{ { 0x66, 0x0f, 0x7f }, 3, 16, true, true, false },
	{ { 0xf3, 0x0f, 0x6f }, 3, 16, false, false, false },
	{ { 0xf3, 0x0f, 0x7f }, 3, 16, true, false, false },
	{ { 0x66, 0x0f, 0xe7 }, 3, 16, true, true, false },
	{ { 0xf2, 0x0f, 0xf0 }, 3, 16, false, false, false },
	{ { 0x66, 0x0f, 0x38, 0x2a }, 4, 16, false, true, false },
	{ { 0xc5, 0xf8, 0x10 }, 3, 16, false, false, true },
	{ { 0xc5, 0xfc, 0x11 }, 3, 32, true, false, true },
	{ { 0xc5, 0xfc, 0x10 }, 3, 32, false, false, true },
	{ { 0xc5, 0xf8, 0x11 }, 3, 16, true, false, true },
	{ { 0xc5, 0xfc, 0x28 }, 3, 32, false, true, true },
	{ { 0xc5, 0xfd, 0x29 }, 3, 32, true, true, true },
	{ { 0xc5, 0xfd, 0x6f }, 3, 32, false, true, true },
	{ { 0xc5, 0xfe, 0x6f }, 3, 32, false, false, true },
	{ { 0xc5, 0xfa, 0x6f }, 3, 16, false, false, true },
	{ { 0xc5, 0xfe, 0x7f }, 3, 32, true, false, true },
	{ { 0xc5, 0xfd, 0xe7 }, 3, 32, true, true, true },
	{ { 0xc5, 0xfc, 0x2b }, 3, 32, true, true, true },
	{ { 0xc5, 0xff, 0xf0 }, 3, 32, false, false, true },
	{ { 0xc4, 0xe2, 0x7d, 0x2a }, 4, 32, false, true, true },
	{ { 0x62, 0xf1, 0x7c, 0x08, 0x10 }, 5, 16, false, false, true },
	{ { 0x62, 0xf1, 0xfe, 0x28, 0x6f }, 5, 32, false, false, true },
	{ { 0x62, 0xf1, 0xfe, 0x28, 0x7f }, 5, 32, true, false, true },
	{ { 0x62, 0xf1, 0x7f, 0x48, 0x6f }, 5, 64, false, false, true },
	{ { 0x62, 0xf1, 0xfd, 0x48, 0x7f }, 5, 64, true, true, true },
	{ { 0x62, 0xf1, 0x7d, 0x48, 0xe7 }, 5, 64, true, true, true },
	{ { 0x62, 0xf2, 0x7d, 0x48, 0x2a }, 5, 64, false, true, true },
};
/* clang-format on */

static void test_moves(void **state)
{
	for (unsigned m = 0; m < ARRAY_SIZE(moves); m++) {
		unsigned nr_registers = moves[m].n == 5 ? 32 : 16;

		for (unsigned reg = 0; reg < nr_registers; reg++) {
			u8 registers[32][64], there[64];

			setup(state);
			memcpy(registers, fake_host.vector_register, sizeof(registers));
			memcpy(there, memory, sizeof(there));
			assert_int_equal(run(moves[m].bytes, moves[m].n, reg), 0);
			assert_int_equal(moved, moves[m].size);
			if (moves[m].store) {
				memcpy(there, registers[reg], moves[m].size);
			} else {
				memcpy(registers[reg], there, moves[m].size);
				if (moves[m].vex)
					memset(registers[reg] + moves[m].size, 0,
					       64 - moves[m].size);
			}
			assert_memory_equal(registers, fake_host.vector_register,
					    sizeof(registers));
			assert_memory_equal(there, memory, sizeof(there));
		}
	}
}

/* Where it must be aligned and is not, the CPU would have raised #GP. */
static void test_alignment(void **)
{
	for (unsigned m = 0; m < ARRAY_SIZE(moves); m++)
		for (unsigned off = 1; off <= 64; off++) {
			gva = 0x10000 + off;
			assert_int_equal(run(moves[m].bytes, moves[m].n, 3),
					 moves[m].aligned && off % moves[m].size ? -EINVAL : 0);
		}
}

static void refused(bool legacy, bool vex, bool evex)
{
	moved = 0;
	assert_int_equal(run(moves[0].bytes, moves[0].n, 1), legacy ? -EINVAL : 0);
	assert_int_equal(!moved, legacy);
	moved = 0;
	assert_int_equal(run(moves[17].bytes, moves[17].n, 1), vex ? -EINVAL : 0);
	assert_int_equal(!moved, vex);
	moved = 0;
	assert_int_equal(run(moves[ARRAY_SIZE(moves) - 4].bytes, 5, 1), evex ? -EINVAL : 0);
	assert_int_equal(!moved, evex);
}

static void test_switched_off(void **state)
{
	/* clang-format off */
	static const struct {
		u64 cr0;
		u64 cr4;
		u64 xcr0;
		u64 rflags;
		bool legacy;
		bool vex;
		bool evex;
	} off[] = {
		{ 0, 0, 0, 0, false, false, false }, { CR0_TS, 0, 0, 0, true, true, true },
		{ CR0_EM, 0, 0, 0, true, false, false },
		{ CR0_PE, 0, 0, 0, false, true, true }, { 0, CR4_OSFXSR, 0, 0, true, false, false },
		{ 0, CR4_OSXSAVE, 0, 0, false, true, true }, { 0, 0, 2, 0, false, true, true },
		{ 0, 0, 4, 0, false, true, true },
		{ 0, 0, 1 << 5, 0, false, false, true }, { 0, 0, 1 << 6, 0, false, false, true },
		{ 0, 0, 1 << 7, 0, false, false, true }, { 0, 0, 0, 1u << 17, false, true, true },
	};
	/* clang-format on */

	for (unsigned i = 0; i < ARRAY_SIZE(off); i++) {
		setup(state);
		context.cr0 ^= off[i].cr0;
		context.cr4 ^= off[i].cr4;
		vcpu.xcr0 ^= off[i].xcr0;
		vcpu.regs.rflags = off[i].rflags;
		refused(off[i].legacy, off[i].vex, off[i].evex);
	}
}

static void test_fault(void **)
{
	u8 registers[32][64];

	memcpy(registers, fake_host.vector_register, sizeof(registers));
	fault = -EFAULT;
	for (unsigned m = 0; m < ARRAY_SIZE(moves); m++)
		assert_int_equal(run(moves[m].bytes, moves[m].n, 5), -EFAULT);
	assert_memory_equal(registers, fake_host.vector_register, sizeof(registers));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_moves, setup),
		cmocka_unit_test_setup(test_alignment, setup),
		cmocka_unit_test_setup(test_switched_off, setup),
		cmocka_unit_test_setup(test_fault, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
