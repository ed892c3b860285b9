/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The short way of an SVM guest's exits, with a VMCB in memory: what it does, and that it leaves
 * all as it was where the long way has more to do. The file is included.
 *
 * That both ways do the same is the tiny guests' to show, whose every 251st exit is timed and takes
 * the long one.
 */
#include "tests/unit/fake_insn.h"

#include "tests/unit/lean_guest.h"
#include "vmm/svm/lean.c"

struct svm_features svm_features;
const struct debugger *debugger;
static struct svm_vcpu svm;
static struct vmcb vmcb;
static unsigned peeked;
/* with the host's registers; and what it does there takes a new ASID */
static bool hosted, flushes;

/* What a CPU that does not tell the length stands on. */
unsigned emulate_peek_length(struct vcpu *v)
{
	assert_int_equal(v->regs.rip, vmcb.rip);
	return peeked;
}

static int setup(void **)
{
	memset(&vmcb, 0, sizeof(vmcb));
	svm = (struct svm_vcpu){ .vmcb = &vmcb };
	svm_features.nrips = true;
	lean_guest_reset(&svm, &vmcb.rax);
	vmcb.clean = 0x5a5a;
	vmcb.rip = 0xffffffff81000000ull;
	vmcb.next_rip = vmcb.exit_info2 = vmcb.rip + 2;
	vmcb.rflags = 0x246;
	/* A context as svm_get_context() has it. */
	vmcb.cr0 = 0x80000011;
	svm.cr0_cache = 0x40000000;
	vmcb.cr3 = 0x7000;
	vmcb.cr4 = 0x60;
	vmcb.efer = 0x1d01;
	vmcb.cs.attr = 0xa9b;
	vcpu.fetched.context = (struct hvm_context){
		.cr0 = 0xc0000011, .cr3 = 0x7000, .cr4 = 0x20, .efer = 0xd01
	};
	peeked = 0;
	flushes = false;
	return 0;
}

/* As run.asm does: what wants the host's registers goes on with them. */
static int leave(u64 code, u64 info)
{
	int found;

	vmcb.exit_code = code;
	vmcb.exit_info1 = info;
	found = svm_lean(&vcpu.regs);
	hosted = found == SVM_HOST;
	if (hosted && flushes)
		vmcb.tlb_control = 1;
	return hosted ? svm_lean_host(&vcpu.regs) : found;
}

/* Nothing was done, nothing counted. */
static void not_done(u64 code, u64 info)
{
	u64 gpr[GPR_COUNT], rip = vmcb.rip, rax = vmcb.rax;
	unsigned next = vcpu.stats.next;

	memcpy(gpr, vcpu.regs.gpr, sizeof(gpr));
	assert_int_equal(leave(code, info), SVM_ENTERED);
	assert_memory_equal(gpr, vcpu.regs.gpr, sizeof(gpr));
	assert_true(vmcb.rip == rip && vmcb.rax == rax);
	assert_int_equal(vcpu.stats.next, next);
	assert_int_equal(vcpu.retries, 9);
}

static void does(u32 code, u64 info, enum vmexit_reason reason)
{
	assert_int_equal(leave(code, info), SVM_AGAIN);
	assert_int_equal(vmcb.rip, 0xffffffff81000002ull);
	assert_int_equal(vcpu.stats.exit[reason].count, 1);
	assert_true(vcpu.stats.next == 2 && vcpu.stats.last[1].rip == 0xffffffff81000000ull &&
		    vcpu.stats.last[1].code == code && vcpu.stats.last[1].reason == reason);
	assert_int_equal(vcpu.retries, 0);
	/*
	 * What devices did is not known to have left the rest alone; bits 3 and 9 are never clean.
	 */
	assert_int_equal(vmcb.clean, hosted ? 0 : 0x1f7);
}

static void test_cpuid(void **)
{
	vmcb.rax = 0x5555555500000002ull;
	does(0x72, 0, VMEXIT_CPUID);
	assert_false(hosted);
	assert_true(vmcb.rax == 0xaaaaaaaa && vcpu.regs.gpr[GPR_RBX] == 0xbbbbbbbb &&
		    vcpu.regs.gpr[GPR_RCX] == 0xcccccccc && vcpu.regs.gpr[GPR_RDX] == 0xdddddddd);
}

static void test_cpuid_not(void **)
{
	static const u32 leaves[] = { 1, 3, 0x40, 0x80000000, 0x8000003f, 0x80000040, ~0u };

	for (unsigned i = 0; i < ARRAY_SIZE(leaves); i++) {
		vmcb.rax = leaves[i];
		not_done(0x72, 0);
	}
}

static void tf(void)
{
	vmcb.rflags = 1 << 8;
}

static void rf(void)
{
	vmcb.rflags = 1 << 16;
}

static void shadow(void)
{
	vmcb.int_state = 1;
}

static void wraps(void)
{
	vmcb.rip = 0xfffffff1;
	vmcb.next_rip = vmcb.exit_info2 = 0xfffffff3;
}

static void no_length(void)
{
	vmcb.next_rip = vmcb.exit_info2 = 0;
}

static void too_long(void)
{
	vmcb.next_rip = vmcb.exit_info2 = vmcb.rip + 16;
}

static void timed(void)
{
	vcpu.stats.sample = vcpu.stats.next;
}

static void stepping(void)
{
	svm.unsettled = svm.stepping = true;
}

/* An interrupt that the guest has not taken: it is to be taken back. */
static void not_taken(void)
{
	svm.unsettled = svm.posted = true;
	vmcb.v_intr = 0xd1ull << 32 | 1 << 8;
}

/* What makes more of a step over an instruction than a new RIP. */
static void test_steps(void **state)
{
	static void (*const more[])(void) = { tf,       rf,    shadow,   wraps,    no_length,
					      too_long, timed, stepping, not_taken };

	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		setup(state);
		more[i]();
		vmcb.rax = 2;
		not_done(0x72, 0);
		not_done(0x81, 0);
		vcpu.regs.gpr[GPR_RCX] = 0x800;
		not_done(0x7c, 0);
		not_done(0x7c, 1);
		not_done(0x7b, 0x4d0u << 16 | 1 << 4 | 1);
	}
}

/* A CPU without next RIP: the bytes are looked at, but for a port's, whose exit tells it. */
static void test_peek(void **state)
{
	svm_features.nrips = false;
	peeked = 2;
	vmcb.next_rip = 0;
	vmcb.rax = 2;
	does(0x72, 0, VMEXIT_CPUID);
	setup(state);
	svm_features.nrips = false;
	vmcb.next_rip = 0;
	vmcb.rax = 2;
	not_done(0x72, 0);
	does(0x7b, 0x4d0u << 16 | 1 << 4 | 1, VMEXIT_IO);
}

/*
 * The first exit behind an interrupt that the guest took: what the entry had is forgotten, a window
 * that is wanted is not.
 */
static void test_settled(void **state)
{
	svm.unsettled = svm.posted = true;
	vmcb.v_intr = 0xd1ull << 32 | 1 << 20 | 15 << 16 | 1 << 24;
	vmcb.tlb_control = 1;
	vmcb.event_inj = 0x80000202;
	does(0x81, 0, VMEXIT_HYPERCALL);
	assert_false(svm.unsettled || svm.posted || vmcb.tlb_control || vmcb.event_inj);
	assert_int_equal(vmcb.v_intr & (1 << 20 | 15 << 16 | 1 << 8), 0);
	assert_true(vmcb.v_intr & 1 << 24);
	setup(state);
	svm.unsettled = true;
	vmcb.v_intr = 1 << 8;
	does(0x81, 0, VMEXIT_HYPERCALL);
	assert_int_equal(vmcb.v_intr, 1 << 8);
}

/*
 * Who waits for the lock of the second-level tables takes a new ASID; when these run out, one entry
 * flushes all, and no other.
 */
static void test_flush(void **state)
{
	vcpu.regs.gpr[GPR_RCX] = 0x800;
	flushes = true;
	does(0x7c, 1, VMEXIT_WRMSR);
	assert_true(hosted && vmcb.tlb_control == 1 && svm.unsettled);
	vmcb.next_rip = vmcb.rip + 2;
	flushes = false;
	assert_int_equal(leave(0x81, 0), SVM_AGAIN);
	assert_true(!vmcb.tlb_control && !svm.unsettled);
	setup(state);
	vcpu.regs.gpr[GPR_RCX] = 0x800;
	does(0x7c, 1, VMEXIT_WRMSR);
	assert_false(svm.unsettled);
}

static void test_msr(void **state)
{
	vcpu.regs.gpr[GPR_RCX] = 0xffffffff00000800ull;
	device_msr = 0x123456789abcdef0ull;
	does(0x7c, 0, VMEXIT_RDMSR);
	assert_false(hosted);
	assert_true(vmcb.rax == 0x9abcdef0 && vcpu.regs.gpr[GPR_RDX] == 0x12345678);
	setup(state);
	vcpu.regs.gpr[GPR_RCX] = 0x800;
	does(0x7c, 1, VMEXIT_WRMSR);
	assert_true(hosted);
	assert_int_equal(device_msr, (u64)GPR_RDX << 32 | GPR_RAX);
	/* It makes the vCPU look: RIP and counters stand. */
	setup(state);
	vcpu.regs.gpr[GPR_RCX] = 0x800;
	vmcb.rax = 7;
	vcpu.regs.gpr[GPR_RDX] = 0;
	assert_int_equal(leave(0x7c, 1), SVM_DONE);
	assert_int_equal(vmcb.rip, 0xffffffff81000002ull);
	assert_int_equal(vcpu.stats.exit[VMEXIT_WRMSR].count, 1);
	/* Refused by the device, and nobody's. */
	setup(state);
	for (u32 msr = 0x7ff; msr <= 0x900; msr++) {
		vcpu.regs.gpr[GPR_RCX] = msr == 0x800 ? 0x10 : msr;
		not_done(0x7c, 0);
		if (msr != 0x801)
			not_done(0x7c, 1);
	}
	assert_int_equal(device_msr, 0);
}

static void test_port(void **state)
{
	static const u64 read[] = { 0x11111111000000ffull, 0x111111110000ffffull, 0, 0xffffffff };

	for (unsigned size = 1; size <= 4; size *= 2) {
		setup(state);
		does(0x7b, 0x4d0u << 16 | size << 4 | 1, VMEXIT_IO);
		assert_false(hosted);
		assert_int_equal(vmcb.rax, read[size - 1]);
	}
	setup(state);
	does(0x7b, 0x4d0u << 16 | 1 << 4, VMEXIT_IO);
	assert_int_equal(vmcb.rax, 0x1111111100000000ull);
	setup(state);
	does(0x7b, 0x3f9u << 16 | 1 << 4 | 1, VMEXIT_IO);
	assert_true(hosted && ports == 1 && vmcb.rax == 0x60);
	/* A string instruction; a breakpoint that may be on a port. */
	setup(state);
	not_done(0x7b, 0x3f9u << 16 | 1 << 4 | 1 << 2 | 1);
	vmcb.dr7 = 0x402;
	not_done(0x7b, 0x3f9u << 16 | 1 << 4 | 1);
}

static void test_hypercall(void **state)
{
	does(0x81, 0, VMEXIT_HYPERCALL);
	assert_int_equal(vmcb.rax, (u64)-1000);
	setup(state);
	vmcb.cpl = 3;
	vmcb.rax = 0x4d470000;
	does(0x81, 0, VMEXIT_HYPERCALL);
	assert_int_equal(vmcb.rax, (u64)-1);
	setup(state);
	for (vmcb.rax = 0x4d470000; vmcb.rax <= 0x4d470001; vmcb.rax++)
		not_done(0x81, 0);
}

static void cut(void)
{
	vmcb.exit_int_info = 0x80000b0e;
}

static void breakpoint(void)
{
	vmcb.dr7 = 1;
}

static void cr0(void)
{
	svm.cr0_cache = 0;
}

static void cr3(void)
{
	vmcb.cr3 = 0x8000;
}

static void cr4(void)
{
	svm.cr4_mce = 0x40;
}

static void efer(void)
{
	vmcb.efer = 0x1501;
}

static void not_long(void)
{
	vmcb.efer = 0x1901;
	vcpu.fetched.context.efer = 0x901;
}

static void user(void)
{
	vmcb.cpl = 3;
}

static void code32(void)
{
	vmcb.cs.attr = 0xc9b;
}

/* Exit 400h: the access that EXITINFO1 and 2 tell of (15.25.6); RF covers one instruction. */
static void test_mmio(void **state)
{
	static void (*const more[])(void) = { tf,        shadow, wraps,      timed, stepping,
					      not_taken, cut,    breakpoint, cr0,   cr3,
					      cr4,       efer,   not_long,   user,  code32 };

	vmcb.rflags = 0x10246;
	vmcb.exit_info2 = 0xfee000b0;
	vcpu.regs.gpr[GPR_RAX] = 0;
	mmio_len = 2;
	does(0x400, 1ull << 32 | 6, VMEXIT_STAGE2);
	assert_true(hosted && accessed.v == 0xfee000b0 && mmio_write && vmcb.rflags == 0x246);
	setup(state);
	mmio_len = 2;
	does(0x400, 1ull << 32 | 4, VMEXIT_STAGE2);
	assert_true(!mmio_write && vmcb.rax == 0x14);
	setup(state);
	vmcb.rflags = 0x10246;
	vcpu.regs.gpr[GPR_RAX] = vmcb.rax;
	not_done(0x400, 1ull << 32 | 4); /* another instruction */
	assert_int_equal(vmcb.rflags, 0x10246);
	accessed = gpa(0);
	mmio_len = 2;
	not_done(0x400, 1ull << 32 | 0x14);
	not_done(0x400, 1ull << 33 | 4);
	assert_int_equal(accessed.v, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		setup(state);
		mmio_len = 2;
		more[i]();
		vmcb.exit_info2 = 0xfee000b0;
		not_done(0x400, 1ull << 32 | 4);
		assert_int_equal(accessed.v, 0);
	}
	setup(state);
	svm_features.nrips = false;
	mmio_len = 2;
	does(0x400, 1ull << 32 | 4, VMEXIT_STAGE2);
}

static void test_others(void **)
{
	for (u32 code = 0; code < 0x410; code++)
		if (code != 0x72 && code != 0x7b && code != 0x7c && code != 0x81 && code != 0x400)
			not_done(code, 1);
	not_done(~0ull, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cpuid, setup),
		cmocka_unit_test_setup(test_cpuid_not, setup),
		cmocka_unit_test_setup(test_steps, setup),
		cmocka_unit_test_setup(test_peek, setup),
		cmocka_unit_test_setup(test_settled, setup),
		cmocka_unit_test_setup(test_flush, setup),
		cmocka_unit_test_setup(test_msr, setup),
		cmocka_unit_test_setup(test_port, setup),
		cmocka_unit_test_setup(test_hypercall, setup),
		cmocka_unit_test_setup(test_mmio, setup),
		cmocka_unit_test_setup(test_others, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
