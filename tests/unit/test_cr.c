/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/exit/cr.c vmm/emulate/decode.c vmm/emulate/decode_operand.c vmm/emulate/decode_table.c */
/*
 * The exit of a control register's access whose instruction another vCPU has changed since (SVM: APM vol. 2, 15.8.1): the
 * old one or the new one runs, and neither is #GP because the other stood there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/emulate/emulate.h"
#include "vmm/exit/exit.h"
#include "vmm/intc.h"
#include "vmm/vm_parts.h"

#define RIP 0x1000
#define CR0 (CR0_PG | CR0_ET | CR0_PE)

static struct vm_parts parts;
static struct vcpu vcpu;
static u64 reg[HVM_REGS], stored;
static u8 cpl;
static const char *there;    /* what stands at RIP now */
static int fetched;          /* how it is fetched */
static int tries;            /* again; those left before the VM is given up */
static unsigned agains, given_up, faults;

static u64 get(struct vcpu *, enum hvm_reg r)
{
	return reg[r];
}

static void set(struct vcpu *, enum hvm_reg r, u64 value)
{
	reg[r] = value;
}

static void get_segment(struct vcpu *, enum seg, struct segment *s)
{
	*s = (struct segment){ .attr = SEG_ATTR_L };
}

static void get_context(struct vcpu *, struct hvm_context *c)
{
	*c = (struct hvm_context){ .cr0 = reg[HVM_CR0], .cr4 = reg[HVM_CR4], .efer = reg[HVM_EFER], .cpl = cpl };
}

static const struct hvm_ops ops = { .get = get, .set = set, .get_segment = get_segment, .get_context = get_context };
const struct hvm_ops *hvm = &ops;

int emulate_fetch(struct vcpu *, const struct insn **out)
{
	static struct insn insn;
	u8 bytes[INSN_MAX] = { 0 };

	*out = &insn;
	if (fetched)
		return fetched;
	memcpy(bytes, there, strlen(there));
	return insn_decode(bytes, sizeof(bytes), MODE_64, &insn);
}

bool emulate_again(struct vcpu *)
{
	agains++;
	return tries-- > 0;
}

void emulate_give_up(struct vcpu *, const char *)
{
	given_up++;
}

void vcpu_raise_error(struct vcpu *, u8 vector, u32 error)
{
	assert_true(vector == VEC_GP && !error);
	faults++;
}

u64 emulate_operand(struct vcpu *, const struct insn *)
{
	return 0x2000;
}

int emulate_mem_read(struct vcpu *, u64, unsigned, u64 *)
{
	return -EFAULT;
}

int emulate_mem_write(struct vcpu *, u64 gva, unsigned size, u64 value)
{
	assert_true(gva == 0x2000 && size == 2);
	stored = value;
	return 0;
}

void emulate_set_gpr(struct vcpu *, u8 gpr, unsigned, bool, u64 value)
{
	vcpu.regs.gpr[gpr] = value;
}

/* Nobody calls these. */
void emulate_skip_slowly(struct vcpu *, u64) { fail(); }
void emulate_skip_unknown(struct vcpu *) { fail(); }
void vcpu_read_pdptes(struct vcpu *, u64, u64[4]) { fail(); }

static int setup(void **)
{
	memset(&vcpu, 0, sizeof(vcpu));
	memset(reg, 0, sizeof(reg));
	vcpu.vm = &parts.vm;
	vcpu.regs.rip = RIP;
	vcpu.regs.gpr[GPR_RAX] = CR0 | CR0_MP;
	reg[HVM_CR0] = CR0;
	reg[HVM_CR4] = CR4_PAE;
	reg[HVM_EFER] = EFER_LMA | EFER_LME;
	cpl = 0;
	fetched = 0;
	stored = 0;
	agains = given_up = faults = 0;
	tries = 1;
	return 0;
}

/* The exit of a write of CR0 that tells nothing more, with this instruction there by now. */
static void leave(const char *bytes)
{
	const struct vmexit exit = { .reason = VMEXIT_CR, .cr = { .write = true } };

	there = bytes;
	exit_cr(&vcpu, &exit);
}

static void expect_again(void)
{
	assert_true(agains == 1 && !faults && !given_up && vcpu.regs.rip == RIP && reg[HVM_CR0] == CR0);
	assert_int_equal(vcpu.regs.gpr[GPR_RAX], CR0 | CR0_MP);
}

/* Another instruction, one that the decoder does not know, or none that is in RAM: the guest runs it itself. */
static void test_other(void **state)
{
	static const char *const others[] = { "\x0f\xa2", "\x0f\x1f\x40", "\x90", "\xe4\x80", "\x0f\x0b", "\x0f\x04", "\x06" };

	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		setup(state);
		leave(others[i]);
		expect_again();
	}
	setup(state);
	fetched = -EIO;
	leave("");
	expect_again();
	/* Not for ever. */
	setup(state);
	tries = 0;
	leave("\x90");
	assert_true(given_up == 1 && !faults);
	/* A #PF has been raised already. */
	setup(state);
	fetched = -EFAULT;
	leave("");
	assert_true(!agains && !faults && !given_up && vcpu.regs.rip == RIP);
}

/* What ring 3 may not do the CPU tells it, with the fault that is right. */
static void test_ring3(void **state)
{
	static const char *const others[] = { "\x0f\x22\xc0", "\x0f\x20\xc0", "\x0f\x06", "\x0f\x01\xf0" };

	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		setup(state);
		cpl = 3;
		leave(others[i]);
		expect_again();
	}
	/* SMSW it may, but with UMIP: that is #GP. */
	setup(state);
	cpl = 3;
	leave("\x0f\x01\x20");
	assert_true(stored == (u16)CR0 && vcpu.regs.rip == RIP + 3 && !agains && !faults);
	reg[HVM_CR4] |= CR4_UMIP;
	leave("\x0f\x01\x20");
	assert_true(faults == 1 && !agains && vcpu.regs.rip == RIP + 3);
}

/* Another access to a control register runs as it stands there now. */
static void test_access(void **state)
{
	leave("\x0f\x22\xc0"); /* mov %rax, %cr0 */
	assert_true(reg[HVM_CR0] == (CR0 | CR0_MP) && vcpu.regs.rip == RIP + 3);
	leave("\x41\x0f\x20\xe0"); /* mov %cr4, %r8 */
	assert_true(vcpu.regs.gpr[GPR_R8] == CR4_PAE && vcpu.regs.rip == RIP + 7);
	reg[HVM_CR0] |= CR0_TS;
	leave("\x0f\x06"); /* clts */
	assert_true(reg[HVM_CR0] == (CR0 | CR0_MP) && vcpu.regs.rip == RIP + 9);
	vcpu.regs.gpr[GPR_RAX] = CR0_TS;
	leave("\x0f\x01\xf0"); /* lmsw %ax */
	assert_true(reg[HVM_CR0] == (CR0 | CR0_TS) && vcpu.regs.rip == RIP + 12);
	assert_true(!agains && !faults);
	/* One that never exits: again. */
	setup(state);
	leave("\x0f\x22\xd8"); /* mov %rax, %cr3 */
	expect_again();
	/* What is #GP stays so. */
	setup(state);
	vcpu.regs.gpr[GPR_RAX] = CR0 | BIT(32);
	leave("\x0f\x22\xc0");
	assert_true(faults == 1 && !agains && vcpu.regs.rip == RIP && reg[HVM_CR0] == CR0);
}

/* Decode assists tell it all: nothing is fetched (15.33.1). */
static void test_decoded(void **)
{
	const struct vmexit exit = { .reason = VMEXIT_CR, .insn_len = 3,
				     .cr = { .write = true, .decoded = true, .gpr = GPR_RAX, .kind = CR_MOV } };

	fetched = -EIO;
	exit_cr(&vcpu, &exit);
	assert_true(reg[HVM_CR0] == (CR0 | CR0_MP) && vcpu.regs.rip == RIP + 3 && !agains);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_other, setup),
		cmocka_unit_test_setup(test_ring3, setup),
		cmocka_unit_test_setup(test_access, setup),
		cmocka_unit_test_setup(test_decoded, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
