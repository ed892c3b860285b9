/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/exit/cr.c @tests/unit/decode.sources */
/*
 * Exits of accesses to control registers while another vCPU changes memory: the instruction (SVM:
 * APM vol. 2, 15.8.1), of which the old one or the new one runs, and neither is #GP because the
 * other stood there; and the directory pointers that the access loads.
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
#include "vmm/vm/intc.h"
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
	*c = (struct hvm_context){
		.cr0 = reg[HVM_CR0], .cr4 = reg[HVM_CR4], .efer = reg[HVM_EFER], .cpl = cpl
	};
}

static void set_pdptes(struct vcpu *vcpu, const u64 pdptes[4]);

static struct hvm_ops ops = { .get = get,
			      .set = set,
			      .set_pdptes = set_pdptes,
			      .get_segment = get_segment,
			      .get_context = get_context };
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

void emulate_refuse(struct vcpu *, const char *)
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
void emulate_skip_slowly(struct vcpu *, u64)
{
	fail();
}
void emulate_skip_unknown(struct vcpu *)
{
	fail();
}

/* Another vCPU sets a reserved bit as soon as they have been read. */
static u64 pdptes_there[4], loaded[4];
static unsigned pdptes_read;

void vcpu_read_pdptes(struct vcpu *, u64 cr3, u64 pdptes[4])
{
	assert_int_equal(cr3, reg[HVM_CR3]);
	memcpy(pdptes, pdptes_there, sizeof(pdptes_there));
	pdptes_there[3] |= BIT(1);
	pdptes_read++;
}

static void set_pdptes(struct vcpu *, const u64 pdptes[4])
{
	memcpy(loaded, pdptes, sizeof(loaded));
}

static int setup(void **)
{
	static const u64 good[4] = { 0x8001, 0x9001, 0, 0xb001 };

	memcpy(pdptes_there, good, sizeof(good));
	memset(loaded, 0, sizeof(loaded));
	pdptes_read = 0;
	ops.set_pdptes = set_pdptes;
	parts.cpuid.phys_bits = 40;
	parts.cpuid.cr4_allowed = ~0ull;
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
	assert_true(agains == 1 && !faults && !given_up && vcpu.regs.rip == RIP &&
		    reg[HVM_CR0] == CR0);
	assert_int_equal(vcpu.regs.gpr[GPR_RAX], CR0 | CR0_MP);
}

/*
 * Another instruction, one that the decoder does not know, or none that is in RAM: the guest runs
 * it itself.
 */
static void test_other(void **state)
{
	static const char *const others[] = { "\x0f\xa2", "\x0f\x1f\x40", "\x90", "\xe4\x80",
					      "\x0f\x0b", "\x0f\x04",     "\x06" };

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
	static const char *const others[] = { "\x0f\x22\xc0", "\x0f\x20\xc0", "\x0f\x06",
					      "\x0f\x01\xf0" };

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
	const struct vmexit exit = {
		.reason = VMEXIT_CR,
		.insn_len = 3,
		.cr = { .write = true, .decoded = true, .gpr = GPR_RAX, .kind = CR_MOV }
	};

	fetched = -EIO;
	exit_cr(&vcpu, &exit);
	assert_true(reg[HVM_CR0] == (CR0 | CR0_MP) && vcpu.regs.rip == RIP + 3 && !agains);
}

static void in_pae_paging(void **state)
{
	setup(state);
	reg[HVM_EFER] = 0;
	reg[HVM_CR3] = 0x7020;
}

static bool write(unsigned cr, u64 value)
{
	const struct vmexit exit = { .reason = VMEXIT_CR,
				     .insn_len = 3,
				     .cr = { .cr = (u8)cr,
					     .write = true,
					     .decoded = true,
					     .gpr = GPR_RAX,
					     .kind = CR_MOV } };

	faults = 0;
	vcpu.regs.gpr[GPR_RAX] = value;
	exit_cr(&vcpu, &exit);
	return !faults;
}

/*
 * PAE paging: the page-directory pointers are loaded by the writes that load them (SDM vol. 3,
 * 4.4.1), and by no other; those that are loaded are those that were checked. A reserved bit is
 * #GP, and loads none.
 */
static void test_pdptes(void **state)
{
	static const struct {
		unsigned cr;
		u64 changes;
		bool loads;
	} writes[] = {
		{ 0, CR0_CD, true },    { 0, CR0_TS, false },   { 0, CR0_MP, false },
		{ 0, 1u << 16, false }, { 4, CR4_PGE, true },   { 4, CR4_PSE, true },
		{ 4, CR4_SMEP, true },  { 4, CR4_SMAP, false }, { 4, CR4_UMIP, false },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(writes); i++) {
		u64 value = (writes[i].cr ? CR4_PAE : CR0) ^ writes[i].changes;

		in_pae_paging(state);
		assert_true(write(writes[i].cr, value));
		assert_int_equal(pdptes_read, writes[i].loads);
		assert_true(loaded[0] == (writes[i].loads ? 0x8001 : 0) &&
			    loaded[3] == (writes[i].loads ? 0xb001 : 0));
		/* By now it is there. */
		if (!writes[i].loads)
			continue;
		assert_false(write(writes[i].cr, value ^ writes[i].changes));
		assert_true(loaded[3] == 0xb001 && reg[writes[i].cr ? HVM_CR4 : HVM_CR0] == value);
	}
	/* Paging is switched on, and PAE below it. */
	in_pae_paging(state);
	reg[HVM_CR0] = CR0 & ~CR0_PG;
	assert_true(write(0, CR0) && loaded[1] == 0x9001);
	in_pae_paging(state);
	reg[HVM_CR4] = 0;
	assert_true(write(4, CR4_PAE) && loaded[1] == 0x9001);
	/* SVM's CPU reads memory for them. */
	in_pae_paging(state);
	ops.set_pdptes = NULL;
	assert_true(write(4, CR4_PAE | CR4_PGE) && pdptes_read == 1);
	/* In long mode there are none. */
	setup(state);
	assert_true(write(4, CR4_PAE | CR4_PGE) && pdptes_read == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_other, setup),
		cmocka_unit_test_setup(test_ring3, setup),
		cmocka_unit_test_setup(test_access, setup),
		cmocka_unit_test_setup(test_decoded, setup),
		cmocka_unit_test_setup(test_pdptes, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
