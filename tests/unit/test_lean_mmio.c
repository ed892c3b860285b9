/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/lean_mmio.c @tests/unit/decode.sources */
/*
 * A memory-mapped access on the short way: which instructions it carries out and what they do, and
 * that it does nothing where the code, its mapping, the mode or the access is not what it was when
 * the instruction was decoded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/emulate/lean.h"

#define CODE 0xffffffff81234000ull
#define PAGE_GPA 0xfee00000ull

const struct debugger *debugger;
const struct hvm_ops *hvm;
static struct vm_parts parts;
static struct vcpu vcpu;
static u8 code[PAGE_SIZE + INSN_MAX];
static u64 tables[4];
static unsigned reads, writes;
static u64 at, written;

static u64 dev_read(void *dev, struct vcpu *v, u64 offset, unsigned size)
{
	assert_true(dev == &parts && v == &vcpu && size == 4);
	reads++;
	at = offset;
	return 0xdeadbeef89abcdefull;
}

static void dev_write(void *dev, struct vcpu *v, u64 offset, unsigned size, u64 value)
{
	assert_true(dev == &parts && v == &vcpu && size == 4);
	writes++;
	at = offset;
	written = value;
}

/* This instruction at an offset of the code's page, decoded before. */
static void stands(unsigned offset, const char *bytes, unsigned size)
{
	struct decoded *d = &vcpu.decoded[(CODE + offset) % INSNS_DECODED];

	memset(code, 0x90, sizeof(code));
	memcpy(code + offset, bytes, size);
	vcpu.regs.rip = CODE + offset;
	memset(d, 0, sizeof(*d));
	memcpy(d->key.bytes, code + offset, INSN_MAX);
	d->key.mode = MODE_64 + 1;
	assert_int_equal(insn_decode(code + offset, INSN_MAX, MODE_64, &d->insn), 0);
}

static int setup(void **)
{
	static const struct mmio_ops ops = { .sizes = 4, .read = dev_read, .write = dev_write };
	static const struct mmio_ops bytes = { .sizes = 1, .read = dev_read, .write = dev_write };

	memset(&parts, 0, sizeof(parts));
	memset(&vcpu, 0, sizeof(vcpu));
	vcpu.vm = &parts.vm;
	parts.ranges.mmio = parts.ranges.few;
	parts.ranges.mmio[0] = (struct mmio_range){ PAGE_GPA, PAGE_SIZE, &ops, &parts };
	parts.ranges.mmio[1] =
		(struct mmio_range){ PAGE_GPA + 2 * PAGE_SIZE, PAGE_SIZE, &bytes, &parts };
	parts.ranges.nr_mmio = 2;
	for (unsigned i = 0; i < GPR_COUNT; i++)
		vcpu.regs.gpr[i] = 0x7777000000000000ull + i * 0x1000;
	for (unsigned i = 0; i < 4; i++) {
		tables[i] = 0x1063 + i;
		vcpu.fetched.entry[i] = &tables[i];
		vcpu.fetched.value[i] = tables[i];
	}
	vcpu.fetched.gva = CODE;
	vcpu.fetched.page = code;
	vcpu.fetched.levels = 4;
	vcpu.fetched.entry_size = 8;
	reads = writes = 0;
	return 0;
}

#define STANDS(offset, bytes) stands(offset, bytes, sizeof(bytes) - 1)

static void not_done(u64 addr, bool write)
{
	struct guest_regs before = vcpu.regs;

	assert_int_equal(lean_mmio(&vcpu, gpa(addr), write), 0);
	assert_memory_equal(&before, &vcpu.regs, sizeof(before));
	assert_true(!reads && !writes);
}

static void test_read(void **state)
{
	STANDS(0x123, "\x8b\x46\x30"); /* mov 0x30(%rsi), %eax */
	assert_int_equal(lean_mmio(&vcpu, gpa(PAGE_GPA + 0x30), false), 3);
	assert_true(reads == 1 && at == 0x30 && vcpu.regs.gpr[GPR_RAX] == 0x89abcdef);
	/* Once more, by what it knows. */
	assert_int_equal(lean_mmio(&vcpu, gpa(PAGE_GPA + 0x30), false), 3);
	setup(state);
	/* mov 0x130(%rbx), %r9d, near the page's end */
	STANDS(0xff1, "\x44\x8b\x8b\x30\x01\x00\x00");
	assert_int_equal(lean_mmio(&vcpu, gpa(PAGE_GPA + 0x130), false), 7);
	assert_true(at == 0x130 && vcpu.regs.gpr[9] == 0x89abcdef);
	setup(state);
	STANDS(0x200, "\x8b\x14\x25\x20\x00\x5f\xff"); /* mov 0xffffffffff5f0020, %edx */
	assert_int_equal(lean_mmio(&vcpu, gpa(PAGE_GPA + 0x20), false), 7);
	assert_true(at == 0x20 && vcpu.regs.gpr[GPR_RDX] == 0x89abcdef);
}

static void test_write(void **state)
{
	STANDS(0x123, "\x89\x86\xb0\x00\x00\x00"); /* mov %eax, 0xb0(%rsi) */
	vcpu.regs.gpr[GPR_RAX] = 0xfedcba9876543210ull;
	assert_int_equal(lean_mmio(&vcpu, gpa(PAGE_GPA + 0xb0), true), 6);
	assert_true(writes == 1 && at == 0xb0 && written == 0x76543210);
	setup(state);
	STANDS(0x123, "\xc7\x46\x30\xfe\xff\xff\xff"); /* movl $-2, 0x30(%rsi) */
	assert_int_equal(lean_mmio(&vcpu, gpa(PAGE_GPA + 0x30), true), 7);
	assert_true(writes == 1 && written == 0xfffffffe);
}

/* Others than MOV of 32 bits, and what needs a register that is not at hand. */
static void test_instructions(void **)
{
	static const struct {
		const char *bytes;
		unsigned size;
		bool write;
	} others[] = {
		{ "\x8a\x46\x30", 3, false },             /* 8 bits */
		{ "\x66\x8b\x46\x30", 4, false },         /* 16 */
		{ "\x48\x8b\x46\x30", 4, false },         /* 64 */
		{ "\x67\x8b\x46\x30", 4, false },         /* a 32-bit address */
		{ "\x64\x8b\x46\x30", 4, false },         /* FS */
		{ "\x65\x8b\x46\x30", 4, false },         /* GS */
		{ "\x8b\x66\x30", 3, false },             /* into ESP */
		{ "\x8b\x44\x24\x30", 4, false },         /* from the stack */
		{ "\x89\x66\x30", 3, true },              /* of ESP */
		{ "\x8b\x44\x06\x30", 4, false },         /* with an index */
		{ "\x8b\x05\x30\x00\x00\x00", 6, false }, /* from RIP on */
		{ "\x0f\xb6\x46\x30", 4, false },         /* MOVZX */
		{ "\x87\x46\x30", 3, true },              /* XCHG */
		{ "\x03\x46\x30", 3, false },             /* ADD */
		{ "\x0f\xc3\x46\x30", 4, true },          /* MOVNTI */
	};

	vcpu.regs.gpr[GPR_RSP] = 0x7777000000000000ull;
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		stands(0x123, others[i].bytes, others[i].size);
		not_done(PAGE_GPA + 0x30, others[i].write);
		not_done(PAGE_GPA + 0x30, others[i].write);
	}
}

/* No operand in memory. */
static void test_register(void **)
{
	STANDS(0x123, "\x8b\xc6"); /* mov %esi, %eax */
	not_done(PAGE_GPA, false);
}

static void test_access(void **)
{
	STANDS(0x123, "\x8b\x46\x30");
	not_done(PAGE_GPA + 0x30, true);                  /* the other way */
	/* another address than the instruction's */
	not_done(PAGE_GPA + 0x34, false);
	not_done(PAGE_GPA + PAGE_SIZE + 0x30, false);     /* nobody's */
	not_done(PAGE_GPA + 2 * PAGE_SIZE + 0x30, false); /* a device that does not take 4 bytes */
	vcpu.regs.gpr[GPR_RSI] += 2;
	not_done(PAGE_GPA + 0x32, false); /* not aligned */
}

static void test_changed(void **state)
{
	STANDS(0x123, "\x8b\x46\x30");
	code[0x124] = 0x4e; /* another register */
	not_done(PAGE_GPA + 0x30, false);
	STANDS(0x123, "\xc7\x86\xb0\x00\x00\x00\x01\x02\x03\x04"); /* movl $0x4030201, 0xb0(%rsi) */
	code[0x123 + 9] = 5;
	not_done(PAGE_GPA + 0xb0, true);
	for (unsigned i = 0; i < 4; i++) {
		setup(state);
		STANDS(0x123, "\x8b\x46\x30");
		tables[i]++;
		not_done(PAGE_GPA + 0x30, false);
	}
	setup(state);
	STANDS(0x123, "\x8b\x46\x30");
	vcpu.regs.rip += PAGE_SIZE;
	not_done(PAGE_GPA + 0x30, false);
	vcpu.regs.rip -= PAGE_SIZE;
	vcpu.fetched.page = NULL;
	not_done(PAGE_GPA + 0x30, false);
	vcpu.fetched.page = code;
	STANDS(0xff2, "\x8b\x46\x30"); /* 15 bytes from here reach into the next page */
	not_done(PAGE_GPA + 0x30, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_read, setup),
		cmocka_unit_test_setup(test_write, setup),
		cmocka_unit_test_setup(test_instructions, setup),
		cmocka_unit_test_setup(test_access, setup),
		cmocka_unit_test_setup(test_register, setup),
		cmocka_unit_test_setup(test_changed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
