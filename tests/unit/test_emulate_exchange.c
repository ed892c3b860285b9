/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/exchange.c vmm/emulate/arithmetic.c @tests/unit/decode.sources */
/*
 * CMPXCHG8B and CMPXCHG16B on device memory against this machine's own CPU, from the same
 * registers, flags and operand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/emulate/emulate.h"

#define GVA 0x10000u
#define FLAGS (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_OF)
#define RUNS 4000

static struct vcpu vcpu;
static u8 memory[16] __attribute__((aligned(16)));
static unsigned reads, writes, denied_at; /* denied_at: the access that faults, from 1 on */
static bool asked;
static u64 gva;

static int access_memory(unsigned size)
{
	assert_true(size == 8 || size == 16);
	return denied_at && reads + writes + asked + 1 == denied_at ? -EFAULT : 0;
}

int emulate_mem_writable(struct vcpu *, u64 at, unsigned size)
{
	int err = access_memory(size);

	assert_true(at == gva && !reads);
	asked = true;
	return err;
}

int emulate_mem_read_bytes(struct vcpu *, u64 at, unsigned size, void *bytes)
{
	int err = access_memory(size);

	assert_true(at == gva && asked);
	reads++;
	memcpy(bytes, memory, size);
	return err;
}

int emulate_mem_write_bytes(struct vcpu *, u64 at, unsigned size, const void *bytes)
{
	assert_true(at == gva && asked);
	writes++;
	memcpy(memory, bytes, size);
	return 0;
}

u64 emulate_operand(struct vcpu *, const struct insn *)
{
	return gva;
}

/* Nobody calls these. */
int emulate_mem_read(struct vcpu *, u64, unsigned, u64 *)
{
	fail();
	return 0;
}
int emulate_mem_write(struct vcpu *, u64, unsigned, u64)
{
	fail();
	return 0;
}
u64 emulate_get_gpr(const struct vcpu *, u8, unsigned, bool)
{
	fail();
	return 0;
}
void emulate_set_gpr(struct vcpu *, u8, unsigned, bool, u64)
{
	fail();
}

struct state {
	u64 rax;
	u64 rbx;
	u64 rcx;
	u64 rdx;
	u64 rflags;
	u8 mem[16];
};

/* lock cmpxchg8b (%rdi), 16b */
static const u8 insns[2][6] = { { 0xf0, 0x0f, 0xc7, 0x0f }, { 0xf0, 0x48, 0x0f, 0xc7, 0x0f } };

static void on_cpu(bool wide, struct state *s)
{
	u8 mem[16] __attribute__((aligned(16)));
	u64 rflags = s->rflags | RFLAGS_IF;

	memcpy(mem, s->mem, sizeof(mem));
	/* Below what the compiler may keep under the stack pointer. */
	if (wide)
		asm volatile(
			"lea -128(%%rsp), %%rsp\n\tpush %[f]\n\tpopfq\n\tlock cmpxchg16b (%[m])\n\tpushfq\n\tpop %[f]\n\t"
			"lea 128(%%rsp), %%rsp" : [f] "+r"(rflags), "+a"(s->rax), "+d"(s->rdx)
			: [m] "r"(mem), "b"(s->rbx), "c"(s->rcx) : "memory", "cc");
	else
		asm volatile(
			"lea -128(%%rsp), %%rsp\n\tpush %[f]\n\tpopfq\n\tlock cmpxchg8b (%[m])\n\tpushfq\n\tpop %[f]\n\t"
			"lea 128(%%rsp), %%rsp" : [f] "+r"(rflags), "+a"(s->rax), "+d"(s->rdx)
			: [m] "r"(mem), "b"(s->rbx), "c"(s->rcx) : "memory", "cc");
	s->rflags = rflags & FLAGS;
	memcpy(s->mem, mem, sizeof(mem));
}

static int emulated(bool wide, struct state *s)
{
	u64 *gpr = vcpu.regs.gpr;
	struct insn insn;
	u8 bytes[INSN_MAX] = { 0 };
	int err;

	memcpy(bytes, insns[wide], sizeof(insns[wide]));
	assert_int_equal(insn_decode(bytes, sizeof(bytes), MODE_64, &insn), 0);
	assert_true(insn.op == INSN_CMPXCHG8B && insn.lock && insn.len == (wide ? 5 : 4));
	gpr[GPR_RAX] = s->rax;
	gpr[GPR_RBX] = s->rbx;
	gpr[GPR_RCX] = s->rcx;
	gpr[GPR_RDX] = s->rdx;
	vcpu.regs.rflags = s->rflags | RFLAGS_IF;
	memcpy(memory, s->mem, sizeof(memory));
	reads = writes = 0;
	asked = false;
	err = emulate_exchange(&vcpu, &insn);
	assert_true(vcpu.regs.rflags & RFLAGS_IF);
	*s = (struct state){
		gpr[GPR_RAX], gpr[GPR_RBX], gpr[GPR_RCX], gpr[GPR_RDX], vcpu.regs.rflags & FLAGS,
		{ 0 }
	};
	memcpy(s->mem, memory, sizeof(memory));
	return err;
}

static u64 rnd(void)
{
	u64 v = 0;

	for (unsigned i = 0; i < 8; i++)
		v = v << 8 | (rand() & 0xff);
	return v;
}

/* Equal, different in one half, or in both; what lies above EAX and EDX is nobody's operand. */
static struct state random_state(unsigned how, bool wide)
{
	struct state s = { rnd(), rnd(), rnd(), rnd(), rnd() & FLAGS, { 0 } };

	for (unsigned i = 0; i < 16; i++)
		s.mem[i] = (u8)rand();
	if (how & 1)
		memcpy(&s.rax, s.mem, wide ? 8 : 4);
	if (how & 2)
		memcpy(&s.rdx, s.mem + (wide ? 8 : 4), wide ? 8 : 4);
	return s;
}

static void test_against_cpu(void **)
{
	gva = GVA;
	for (unsigned i = 0; i < RUNS; i++) {
		bool wide = i & 4;
		struct state start = random_state(i, wide), cpu = start, own = start;

		on_cpu(wide, &cpu);
		assert_int_equal(emulated(wide, &own), 0);
		if (memcmp(&cpu, &own, sizeof(cpu)))
			fail_msg(
				"%s, case %u: RAX %#lx RDX %#lx flags %#lx, the CPU has %#lx, %#lx, %#lx",
				wide ? "16B" : "8B", i & 3, own.rax, own.rdx, own.rflags, cpu.rax,
				cpu.rdx, cpu.rflags);
		/* What differs is written, too, as it was. */
		assert_true(reads == 1 && writes == 1);
	}
}

/*
 * A page that may not be written, or not be read any more: nothing has changed. Nor by 16 bytes
 * that are not aligned.
 */
static void test_faults(void **)
{
	for (denied_at = 1; denied_at <= 2; denied_at++)
		for (unsigned wide = 0; wide < 2; wide++) {
			struct state start = random_state(3, wide), own = start;

			gva = GVA;
			assert_int_equal(emulated(wide, &own), -EFAULT);
			assert_true(!memcmp(&own, &start, sizeof(own)) && !writes &&
				    reads == denied_at - 1);
		}
	denied_at = 0;
	for (unsigned off = 1; off < 16; off++) {
		struct state start = random_state(3, true), own = start;

		gva = GVA + off;
		assert_int_equal(emulated(true, &own), -EINVAL);
		assert_true(!memcmp(&own, &start, sizeof(own)) && !reads && !writes);
		own = random_state(3, false);
		assert_int_equal(emulated(false, &own), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_cpu),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
