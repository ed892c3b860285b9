/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/mmio.c vmm/emulate/arithmetic.c vmm/emulate/exchange.c vmm/emulate/vector.c */
/*
 * Moves with device memory; bit tests against the same instructions of the CPU that runs this.
 * Arithmetic: test_emulate_alu.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_strings.h"
#include "vmm/hvm.h"
#include "vmm/vm.h"

#define GVA 0x10000ull
#define MIDDLE 4096 /* of the memory; a 16-bit index reaches that far */
#define RUNS 2000

const struct hvm_ops *hvm;
static u8 memory[2 * MIDDLE];
static struct insn insn;
static struct vcpu vcpu;
static bool gave_up;
static unsigned writes;

int emulate_fetch(struct vcpu *, const struct insn **out)
{
	*out = &insn;
	return 0;
}

u64 emulate_get_gpr(const struct vcpu *v, u8 reg, unsigned size, bool)
{
	return insn_truncate(v->regs.gpr[reg], size);
}

void emulate_set_gpr(struct vcpu *v, u8 reg, unsigned size, bool, u64 value)
{
	v->regs.gpr[reg] = insn_truncate(value, size);
}

int emulate_mem_read(struct vcpu *, u64 gva, unsigned size, u64 *value)
{
	*value = 0;
	assert_true(gva - GVA + MIDDLE <= sizeof(memory) - size);
	memcpy(value, memory + MIDDLE + (gva - GVA), size);
	return 0;
}

int emulate_mem_write(struct vcpu *, u64 gva, unsigned size, u64 value)
{
	assert_true(gva - GVA + MIDDLE <= sizeof(memory) - size);
	memcpy(memory + MIDDLE + (gva - GVA), &value, size);
	writes++;
	return 0;
}

static unsigned asked;

int emulate_mem_writable(struct vcpu *, u64, unsigned)
{
	asked++;
	return 0;
}

/* Nobody calls these. */
int emulate_mem_read_bytes(struct vcpu *, u64, unsigned, void *)
{
	fail();
	return 0;
}
int emulate_mem_write_bytes(struct vcpu *, u64, unsigned, const void *)
{
	fail();
	return 0;
}
void host_vector_read(unsigned, unsigned, void *)
{
	fail();
}
void host_vector_write(unsigned, unsigned, bool, const void *)
{
	fail();
}
void host_vector_read_zmm(unsigned, void *)
{
	fail();
}
void host_vector_write_zmm(unsigned, const void *)
{
	fail();
}

u64 emulate_operand(struct vcpu *, const struct insn *i)
{
	assert_ptr_equal(i, &insn);
	return GVA;
}

static bool is_lost;
static unsigned lost_accesses;

bool guest_is_lost(struct vm *, gpa_t)
{
	return is_lost;
}

void vcpu_lost_access(struct vcpu *v, gpa_t gpa)
{
	assert_true(v == &vcpu && gpa.v == 0x5678);
	lost_accesses++;
}

static bool may_execute, loses; /* the page is found lost meanwhile */

bool vm_execute(struct vcpu *v, gpa_t gpa)
{
	is_lost = is_lost || loses;
	assert_true(v == &vcpu && gpa.v == 0x5678);
	return may_execute;
}

void emulate_give_up(struct vcpu *, const char *)
{
	gave_up = true;
}

void emulate_refuse(struct vcpu *, const char *)
{
	gave_up = true;
}

bool emulate_refuse_program(struct vcpu *)
{
	return false;
}

void host_log_limited(struct log_limit *, const char *, const char *, ...) { }

void host_log(const char *, ...) { }

/* The flags come by the stack, below what the compiler may keep there. */
#define FLAGS "\n\tlea -128(%%rsp), %%rsp\n\tpushfq\n\tpopq %[f]\n\tlea 128(%%rsp), %%rsp"
static void emulate(u64 rflags)
{
	const struct vmexit exit = { .reason = VMEXIT_STAGE2 };

	vcpu.regs.rflags = rflags;
	vcpu.regs.rip = 0x1000;
	writes = 0;
	emulate_mmio(&vcpu, &exit);
	assert_false(gave_up);
	assert_int_equal(vcpu.regs.rip, 0x1000 + insn.len);
}

#define BIT_TEST(op, suffix, type) \
	static u64 native_##op##suffix(void *at, u64 index) \
	{ \
		u64 flags; \
		asm volatile(#op #suffix " %[i], (%[m])" FLAGS : [f] "=&r"(flags) \
			     : [i] "r"((type)index), [m] "r"(at) : "cc", "memory"); \
		return flags; \
	}
#define BIT_TESTS(op) BIT_TEST(op, w, u16) BIT_TEST(op, l, u32) BIT_TEST(op, q, u64)
/* clang-format off */
BIT_TESTS(bt) BIT_TESTS(bts) BIT_TESTS(btr) BIT_TESTS(btc)
/* clang-format on */

/* The index in a register reaches to both sides. */
static void test_bits(void **)
{
	static const struct {
		enum insn_op op;
		u64 (*native[3])(void *at, u64 index);
	} bits[] = {
		{ INSN_BT, { native_btw, native_btl, native_btq } },
		{ INSN_BTS, { native_btsw, native_btsl, native_btsq } },
		{ INSN_BTR, { native_btrw, native_btrl, native_btrq } },
		{ INSN_BTC, { native_btcw, native_btcl, native_btcq } },
	};
	static u8 expected[sizeof(memory)];

	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (u8)rand();
	for (unsigned run = 0; run < RUNS; run++) {
		unsigned n = run % ARRAY_SIZE(bits), s = (unsigned)rand() % 3, size = 2u << s;
		u64 index = (u64)(rand() % 65536 - 32768), flags;

		insn = (struct insn){ .op = bits[n].op,
				      .len = 4,
				      .opsize = (u8)size,
				      .mem = true,
				      .to_mem = true,
				      .reg = GPR_RCX,
				      .has_imm = rand() & 1,
				      .imm = index & (8 * size - 1) };
		vcpu.regs.gpr[GPR_RCX] = index;
		memcpy(expected, memory, sizeof(memory));
		flags = bits[n].native[s](expected + MIDDLE, insn.has_imm ? insn.imm : index);
		emulate(BIT(9) | (rand() & RFLAGS_CF));
		assert_int_equal(vcpu.regs.rflags & RFLAGS_CF, flags & RFLAGS_CF);
		assert_memory_equal(memory, expected, sizeof(memory));
		assert_int_equal(writes, bits[n].op != INSN_BT);
	}
}

static u64 loaded(unsigned size)
{
	u64 value = 0;

	memcpy(&value, memory + MIDDLE, size);
	return value;
}

static void begin(enum insn_op op, unsigned size, u64 value)
{
	insn = (struct insn){ .op = op, .len = 3, .opsize = (u8)size, .mem = true, .reg = GPR_RSI };
	vcpu.regs.gpr[GPR_RSI] = 0x8182838485868788;
	memset(memory, 0, sizeof(memory));
	memcpy(memory + MIDDLE, &value, size);
}

static void test_moves(void **)
{
	for (unsigned size = 1; size <= 8; size *= 2) {
		u64 there = insn_truncate(0xf1f2f3f4f5f6f7f8, size),
		    here = insn_truncate(0x8182838485868788, size);

		begin(INSN_MOV, size, there);
		emulate(0);
		assert_int_equal(vcpu.regs.gpr[GPR_RSI], there);
		assert_int_equal(writes, 0);
		begin(INSN_MOV, size, there);
		insn.to_mem = true;
		emulate(0);
		assert_int_equal(loaded(8), here);
		begin(INSN_MOV, size, there);
		insn.to_mem = insn.has_imm = true;
		insn.imm = ~4ull;
		emulate(0);
		assert_int_equal(loaded(8), insn_truncate(~4ull, size));
		begin(INSN_XCHG, size, there);
		insn.to_mem = true;
		asked = 0;
		emulate(0);
		assert_int_equal(asked, 1);
		assert_int_equal(loaded(8), here);
		assert_int_equal(vcpu.regs.gpr[GPR_RSI], there);
		if (size >= 4) {
			begin(INSN_MOVNTI, size, there);
			insn.to_mem = true;
			emulate(0);
			assert_int_equal(loaded(8), here);
		}
		for (unsigned to = size * 2; to <= 8; to *= 2) {
			begin(INSN_MOVZX, size, there);
			insn.dstsize = (u8)to;
			emulate(0);
			assert_int_equal(vcpu.regs.gpr[GPR_RSI], there);
			begin(INSN_MOVSX, size, there);
			insn.dstsize = (u8)to;
			emulate(0);
			assert_int_equal(vcpu.regs.gpr[GPR_RSI],
					 insn_truncate(there | ~0ull << size * 8, to));
			begin(INSN_MOVSX, size, 0x7f);
			insn.dstsize = (u8)to;
			emulate(0);
			assert_int_equal(vcpu.regs.gpr[GPR_RSI], 0x7f);
		}
	}
}

/* A fetch that is let go on another time; one of page tables never is. */
static void test_fetch(void **)
{
	struct vmexit exit = { .reason = VMEXIT_STAGE2,
			       .stage2 = { .gpa = gpa(0x5678), .exec = true } };
	static struct vm vm;

	vcpu.vm = &vm;
	vcpu.regs.rip = 0x1000;
	may_execute = true;
	emulate_mmio(&vcpu, &exit);
	assert_false(gave_up);
	exit.stage2.walk = true;
	emulate_mmio(&vcpu, &exit);
	assert_true(gave_up);
	gave_up = exit.stage2.walk = may_execute = false;
	emulate_mmio(&vcpu, &exit);
	assert_true(gave_up);
	assert_int_equal(vcpu.regs.rip, 0x1000);
	gave_up = false;
}

/* RAM that is lost, and no device: whatever touches it, nothing is carried out. */
static void test_lost(void **)
{
	struct vmexit exit = { .reason = VMEXIT_STAGE2, .stage2 = { .gpa = gpa(0x5678) } };

	is_lost = true;
	lost_accesses = 0;
	begin(INSN_MOV, 4, 1);
	insn.to_mem = true;
	vcpu.regs.rip = 0x1000;
	writes = 0;
	for (unsigned i = 0; i < 4; i++) {
		exit.stage2.exec = i & 1;
		exit.stage2.walk = i & 2;
		emulate_mmio(&vcpu, &exit);
	}
	assert_true(lost_accesses == 4 && !writes && !gave_up && vcpu.regs.rip == 0x1000);
	/* It is lost as its large page is being made executable. */
	is_lost = exit.stage2.walk = false;
	exit.stage2.exec = loses = true;
	emulate_mmio(&vcpu, &exit);
	assert_true(lost_accesses == 5 && !gave_up && vcpu.regs.rip == 0x1000);
	is_lost = loses = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
