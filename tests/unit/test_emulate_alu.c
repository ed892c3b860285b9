/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/emulate.sources */
/*
 * Instructions on device memory against this machine's own CPU: each runs once
 * there, on RAM, and once in the emulator, from the same registers, flags and
 * operand; what they leave is the same.
 *
 * All sizes, the operands' edges, and the flags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/emulate/emulate.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vm_parts.h"

#define CODE_BYTES 4096
#define FLAGS (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_OF)
#define LOGIC (FLAGS & ~RFLAGS_AF) /* AF is undefined (SDM vol. 2, AND) */

/* What an instruction finds and leaves: RDI points to `mem`, RAX and RCX are operands. */
struct machine {
	u64 rax;
	u64 rcx;
	u64 rflags;
	u64 mem;
};

static u8 *code; /* of this machine: the instruction between what sets and what reads the flags */
static const u8 *insn_bytes;
static u64 memory;
static struct vm_parts parts;
static struct vcpu vcpu = { .vm = &parts.vm };

/* ---- what the emulator asks for ---- */

const struct hvm_ops *hvm;

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

static void get_context(struct vcpu *, struct hvm_context *out)
{
	*out = (struct hvm_context){ .efer = EFER_LMA, .cs_attr = SEG_ATTR_L };
}

int guest_fetch(struct vcpu *, const struct hvm_context *, u64, const u8 **out,
		struct guest_fault *)
{
	*out = insn_bytes;
	return 0;
}

const u8 *guest_fetched(const struct vcpu *, const struct hvm_context *, u64)
{
	return insn_bytes;
}

static unsigned writes, reads;
static bool asked; /* before the first read, whether it can be written */

int emulate_mem_read(struct vcpu *, u64 gva, unsigned size, u64 *value)
{
	assert_int_equal(gva, (u64)(uintptr_t)&memory);
	*value = insn_truncate(memory, size);
	reads++;
	return 0;
}

int emulate_mem_write(struct vcpu *, u64 gva, unsigned size, u64 value)
{
	writes++;
	assert_true(asked || !reads);
	assert_int_equal(gva, (u64)(uintptr_t)&memory);
	assert_true(value == insn_truncate(value, size));
	memcpy(&memory, &value, size);
	return 0;
}

int emulate_mem_writable(struct vcpu *, u64 gva, unsigned)
{
	assert_int_equal(gva, (u64)(uintptr_t)&memory);
	asked = !reads;
	return 0;
}

int emulate_mem_read_bytes(struct vcpu *, u64, unsigned, void *)
{
	fail();
	return -EFAULT;
}

int emulate_mem_write_bytes(struct vcpu *, u64, unsigned, const void *)
{
	fail();
	return -EFAULT;
}

void emulate_port(struct vcpu *, u16, unsigned, bool, u64 *)
{
	fail_msg("no port is in these tests");
}

int guest_lost(struct vm *)
{
	fail();
	return -EIO;
}

bool guest_is_lost(struct vm *, gpa_t)
{
	return false;
}

void vcpu_lost_access(struct vcpu *, gpa_t)
{
	fail();
}

int guest_read_virt(struct vcpu *, u64, enum guest_access, void *buf, unsigned size,
		    struct guest_fault *)
{
	memset(buf, 0, size);
	return 0;
}

static bool died;

bool vm_execute(struct vcpu *, gpa_t)
{
	return false;
}

bool vm_end(struct vm *, enum vm_end)
{
	return died = true;
}

void host_log_limited(struct log_limit *, const char *, const char *, ...) { }

void host_log(const char *, ...) { }

void vcpu_raise(struct vcpu *, u8 vector)
{
	fail_msg("vector %u", vector);
}

void vcpu_raise_page_fault(struct vcpu *, u64 cr2, u32 error)
{
	fail_msg("#PF at %#lx, error %#x", (unsigned long)cr2, error);
}

static u64 get(struct vcpu *, enum hvm_reg)
{
	return 0x400; /* DR7: no breakpoint */
}

static void get_segment(struct vcpu *, enum seg, struct segment *out)
{
	*out = (struct segment){ 0 };
}

static const struct hvm_ops ops = { .get = get,
				    .get_context = get_context,
				    .get_segment = get_segment };

/* ---- both machines ---- */

static void on_cpu(const u8 *bytes, unsigned len, struct machine *m)
{
	/*
	 * pushfq; push rdx; popfq; the instruction; pushfq; pop rdx; popfq; ret: RDX is RFLAGS, and
	 * nothing else changes.
	 */
	static const u8 before[] = { 0x9c, 0x52, 0x9d }, after[] = { 0x9c, 0x5a, 0x9d, 0xc3 };
	u64 rflags = m->rflags | RFLAGS_IF;

	memcpy(code, before, sizeof(before));
	memcpy(code + sizeof(before), bytes, len);
	memcpy(code + sizeof(before) + len, after, sizeof(after));
	asm volatile("call *%[code]" : "+a"(m->rax), "+c"(m->rcx), "+d"(rflags)
		     : [code] "r"(code), "D"(&m->mem) : "memory", "cc");
	m->rflags = rflags & FLAGS;
}

static void emulated(const u8 *bytes, unsigned len, struct machine *m)
{
	const struct vmexit exit = { .reason = VMEXIT_STAGE2, .stage2 = { .write = true } };

	insn_bytes = bytes;
	memory = m->mem;
	vcpu.regs = (struct guest_regs){ .rip = 0x1000, .rflags = m->rflags | RFLAGS_FIXED };
	vcpu.regs.gpr[GPR_RAX] = m->rax;
	vcpu.regs.gpr[GPR_RCX] = m->rcx;
	vcpu.regs.gpr[GPR_RDI] = (u64)(uintptr_t)&memory;
	died = asked = false;
	reads = 0;
	for (unsigned i = 0; i < 2000 && !died && vcpu.regs.rip == 0x1000; i++)
		emulate_mmio(&vcpu, &exit);
	if (died || vcpu.regs.rip != 0x1000 + len)
		fail_msg("%02x %02x %02x %02x: not emulated", bytes[0], bytes[1], bytes[2],
			 bytes[3]);
	*m = (struct machine){ .rax = vcpu.regs.gpr[GPR_RAX],
			       .rcx = vcpu.regs.gpr[GPR_RCX],
			       .rflags = vcpu.regs.rflags & FLAGS,
			       .mem = memory };
}

static unsigned compared;

/*
 * One instruction of `len` bytes, with the operands' edges and others, and each of the flags it may
 * take.
 */
static void compare(const u8 *bytes, unsigned len, u64 flags)
{
	/* clang-format off */
	static const u64 values[] = {
		0, 1, 2, 0xf, 0x10, 0x7f, 0x80, 0xfe, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe, ~0ull,
		0x0123456789abcdef, 0xfedcba9876543210,
	};
	/* clang-format on */

	u8 padded[INSN_MAX] = { 0 };

	memcpy(padded, bytes, len);
	for (unsigned i = 0; i < ARRAY_SIZE(values) * ARRAY_SIZE(values) * 4; i++) {
		u64 reg = values[i / 4 % ARRAY_SIZE(values)],
		    mem = values[i / 4 / ARRAY_SIZE(values)];
		struct machine cpu = { .rax = ~reg,
				       .rcx = reg,
				       .mem = mem,
				       .rflags = (i & 1 ? FLAGS : 0) ^ (i & 2 ? RFLAGS_CF : 0) };
		struct machine own = cpu, start = cpu;

		on_cpu(padded, len, &cpu);
		emulated(padded, len, &own);
		if (own.rax != cpu.rax || own.rcx != cpu.rcx || own.mem != cpu.mem ||
		    (own.rflags ^ cpu.rflags) & flags)
			fail_msg(
				"%02x %02x %02x %02x with RCX %#lx, memory %#lx, flags %#lx: RCX %#lx, memory %#lx, flags %#lx; "
				"the CPU has %#lx, %#lx, %#lx",
				padded[0], padded[1], padded[2], padded[3],
				(unsigned long)start.rcx, (unsigned long)start.mem,
				(unsigned long)start.rflags, (unsigned long)own.rcx,
				(unsigned long)own.mem, (unsigned long)own.rflags,
				(unsigned long)cpu.rcx, (unsigned long)cpu.mem,
				(unsigned long)cpu.rflags);
		compared++;
	}
}

/*
 * The sizes of an opcode whose bit 0 says that it is not of bytes: `opcode`, and `opcode | 1` with
 * each prefix.
 */
static void all_sizes(unsigned map, u8 opcode, u8 modrm, u64 imm, unsigned imm_len, u64 flags)
{
	static const u8 prefix[] = { 0, 0, 0x66, 0x48 };

	for (unsigned size = map ? 1 : 0; size < 4; size++) {
		static const u8 imm_bytes[] = { 1, 4, 2, 4 };
		unsigned n = 0, bytes = imm_len == 4 ? imm_bytes[size] : imm_len;
		u8 b[INSN_MAX];

		if (prefix[size])
			b[n++] = prefix[size];
		if (map)
			b[n++] = 0x0f;
		b[n++] = opcode | (!map && size);
		b[n++] = modrm;
		memcpy(b + n, &imm, bytes);
		compare(b, n + bytes, flags);
	}
}

/* ModRM [rdi] with this register or member of a group. */
static u8 at_rdi(u8 reg)
{
	return (u8)(reg << 3 | GPR_RDI);
}

static void two_operands(void **)
{
	/* ADD OR ADC SBB AND SUB XOR CMP */
	for (u8 op = 0; op < 8; op++) {
		u64 flags = op == 1 || op == 4 || op == 6 ? LOGIC : FLAGS;

		all_sizes(0, (u8)(op << 3), at_rdi(GPR_RCX), 0, 0, flags);
		all_sizes(0, (u8)(op << 3 | 2), at_rdi(GPR_RCX), 0, 0, flags);
		all_sizes(0, 0x80, at_rdi(op), 0x81, 4, flags);
		all_sizes(0, 0x80, at_rdi(op), 0x89abcdef, 4, flags);
		for (unsigned size = 1; size < 4; size++) {
			static const u8 prefix[] = { 0, 0x3e, 0x66, 0x48 };
			const u8 b[] = { prefix[size], 0x83, at_rdi(op), 0x82 };

			compare(b, sizeof(b), flags);
		}
	}
	all_sizes(0, 0x84, at_rdi(GPR_RCX), 0, 0, LOGIC);
	all_sizes(0, 0xf6, at_rdi(0), 0x89abcd81, 4, LOGIC);
}

static void one_operand(void **)
{
	all_sizes(0, 0xf6, at_rdi(2), 0, 0, FLAGS); /* NOT, NEG */
	all_sizes(0, 0xf6, at_rdi(3), 0, 0, FLAGS);
	all_sizes(0, 0xfe, at_rdi(0), 0, 0, FLAGS); /* INC, DEC */
	all_sizes(0, 0xfe, at_rdi(1), 0, 0, FLAGS);
}

static void moves_and_bits(void **)
{
	all_sizes(0, 0x86, at_rdi(GPR_RCX), 0, 0, FLAGS); /* XCHG, MOV */
	all_sizes(0, 0x88, at_rdi(GPR_RCX), 0, 0, FLAGS);
	all_sizes(0, 0x8a, at_rdi(GPR_RCX), 0, 0, FLAGS);
	all_sizes(0, 0xc6, at_rdi(0), 0x89abcdef, 4, FLAGS);
	for (u8 op = 0xb6; op <= 0xbf; op += op == 0xb7 ? 7 : 1) /* MOVZX, MOVSX */
		all_sizes(1, op, at_rdi(GPR_RCX), 0, 0, FLAGS);
	/* BT, BTS, BTR, BTC; but for CF the flags are undefined */
	for (u8 member = 4; member < 8; member++)
		all_sizes(1, 0xba, at_rdi(member), 0x45, 1, RFLAGS_CF);
}

/*
 * RAX is the complement of RCX: of all pairs some are equal to memory, in each size. CMPXCHG8B and
 * 16B: test_emulate_exchange.c.
 */
static void exchanges(void **)
{
	all_sizes(1, 0xc1, at_rdi(GPR_RCX), 0, 0, FLAGS); /* XADD, CMPXCHG */
	all_sizes(1, 0xb1, at_rdi(GPR_RCX), 0, 0, FLAGS);
	compare((const u8[]){ 0x0f, 0xc0, at_rdi(GPR_RCX) }, 3, FLAGS);
	compare((const u8[]){ 0x0f, 0xc0, at_rdi(5) }, 3, FLAGS); /* CH */
	compare((const u8[]){ 0x0f, 0xb0, at_rdi(GPR_RCX) }, 3, FLAGS);
	/* AH, whose RAX it compares with */
	compare((const u8[]){ 0x0f, 0xb0, at_rdi(4) }, 3, FLAGS);
	compare((const u8[]){ 0xf0, 0x48, 0x0f, 0xb1, at_rdi(GPR_RAX) }, 5, FLAGS);
	compare((const u8[]){ 0xf0, 0x48, 0x0f, 0xc1, at_rdi(GPR_RAX) }, 5, FLAGS);
}

/*
 * CMP, TEST and BT write nothing, not even what stands there: a device would take it for a write.
 */
static void flags_alone(void **)
{
	static const struct {
		u8 bytes[INSN_MAX];
		unsigned len;
		unsigned writes;
	} insns[] = {
		{ { 0x39, 0x0f }, 2, 0 },          { { 0x3b, 0x0f }, 2, 0 },
		{ { 0x80, 0x3f, 1 }, 3, 0 },       { { 0x85, 0x0f }, 2, 0 },
		{ { 0x0f, 0xba, 0x27, 3 }, 4, 0 }, { { 0x0f, 0xba, 0x2f, 3 }, 4, 1 },
		{ { 0x01, 0x0f }, 2, 1 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(insns); i++) {
		struct machine m = { .rcx = 7, .mem = 0x5a };

		writes = 0;
		emulated(insns[i].bytes, insns[i].len, &m);
		assert_int_equal(writes, insns[i].writes);
		assert_int_equal(m.rcx, 7);
	}
}

/* An instruction that the emulator does not know ends the VM; and all those above were compared. */
static void unknown(void **)
{
	static const u8 mul[INSN_MAX] = { 0xf7, 0x27 };
	const struct vmexit exit = { .reason = VMEXIT_STAGE2 };

	insn_bytes = mul;
	vcpu.regs = (struct guest_regs){ .rip = 0x1000 };
	died = false;
	for (unsigned i = 0; i < 2000 && !died; i++)
		emulate_mmio(&vcpu, &exit);
	assert_true(died);
	assert_int_equal(vcpu.regs.rip, 0x1000);
	assert_true(compared > 200000);
}

static int setup(void **)
{
	hvm = &ops;
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return code == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_operands),   cmocka_unit_test(one_operand),
		cmocka_unit_test(moves_and_bits), cmocka_unit_test(exchanges),
		cmocka_unit_test(flags_alone),    cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
