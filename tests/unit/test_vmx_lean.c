/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The short way of a VT-x guest's exits, with a VMCS in memory: what it does, and that it leaves
 * all as it was where the long way has more to do. The file is included.
 *
 * That both ways do the same is the tiny guests' to show, whose every 251st exit is timed and takes
 * the long one.
 */
#include "tests/unit/fake_vmcs.h"

#include "tests/unit/lean_guest.h"
#include "vmm/vmx/lean.c"

enum {
	CR4_MASK = 0x6002,
	CR0_SHADOW = 0x6004,
	CR4_SHADOW = 0x6006,
	CR0 = 0x6800,
	CR3 = 0x6802,
	CR4 = 0x6804,
	EFER = 0x2806,
	CS_ATTR = 0x4816,
	ADDRESS = 0x2400,
	REASON = 0x4402,
	CUT = 0x4408,
	LENGTH = 0x440c,
	SS_ATTR = 0x4818,
	BLOCKING = 0x4824,
	QUALIFICATION = 0x6400,
	DR7 = 0x681a,
	RIP = 0x681e,
	RFLAGS = 0x6820
};

struct vmx_controls vmx_controls;
const struct debugger *debugger;
static struct vmx_vcpu vmx;

static int setup(void **)
{
	fake_vmcs_reset();
	lean_guest_reset(&vmx, &vcpu.regs.gpr[GPR_RAX]);
	vmcs[LENGTH] = 2;
	vmcs[RIP] = 0xffffffff81000000ull;
	vmcs[RFLAGS] = 0x246;
	/* A context as vmx_get_context() has it: bits that the mask names come from the shadow. */
	vmcs[CR0] = 0x80000031;
	vmcs[CR0_SHADOW] = 0xe0000011;
	vmcs[CR4] = 0x2060;
	vmcs[CR4_SHADOW] = 0x20;
	vmcs[CR4_MASK] = 0x2040;
	vmcs[CR3] = 0x7000;
	vmcs[EFER] = 0xd01;
	vmcs[CS_ATTR] = 0xa09b;
	vcpu.fetched.context = (struct hvm_context){
		.cr0 = 0xe0000011, .cr3 = 0x7000, .cr4 = 0x20, .efer = 0xd01
	};
	return 0;
}

static int leave(u32 reason)
{
	vmcs[REASON] = reason;
	return vmx_lean(&vcpu.regs);
}

/* Nothing was done, nothing counted. */
static void not_done(u32 reason)
{
	u64 gpr[GPR_COUNT], rip = vmcs[RIP];
	unsigned next = vcpu.stats.next;

	memcpy(gpr, vcpu.regs.gpr, sizeof(gpr));
	assert_int_equal(leave(reason), VMX_ENTERED);
	assert_memory_equal(gpr, vcpu.regs.gpr, sizeof(gpr));
	assert_int_equal(vmcs[RIP], rip);
	assert_int_equal(vmcs_writes[RIP], 0);
	assert_int_equal(vcpu.stats.next, next);
	assert_int_equal(vcpu.retries, 9);
}

static void does(u32 code, enum vmexit_reason reason)
{
	assert_int_equal(leave(code), VMX_AGAIN);
	assert_int_equal(vmcs[RIP], 0xffffffff81000002ull);
	assert_int_equal(vcpu.stats.exit[reason].count, 1);
	assert_true(vcpu.stats.next == 2 && vcpu.stats.last[1].rip == 0xffffffff81000000ull &&
		    vcpu.stats.last[1].code == code && vcpu.stats.last[1].reason == reason);
	assert_int_equal(vcpu.retries, 0);
}

static void test_cpuid(void **)
{
	vcpu.regs.gpr[GPR_RAX] = 0x5555555500000002ull;
	does(10, VMEXIT_CPUID);
	assert_true(vcpu.regs.gpr[GPR_RAX] == 0xaaaaaaaa && vcpu.regs.gpr[GPR_RBX] == 0xbbbbbbbb &&
		    vcpu.regs.gpr[GPR_RCX] == 0xcccccccc && vcpu.regs.gpr[GPR_RDX] == 0xdddddddd);
}

static void test_cpuid_not(void **)
{
	static const u32 leaves[] = { 1, 3, 0x40, 0x80000000, 0x8000003f, 0x80000040, ~0u };

	for (unsigned i = 0; i < ARRAY_SIZE(leaves); i++) {
		vcpu.regs.gpr[GPR_RAX] = leaves[i];
		not_done(10);
	}
}

/* What makes more of a step over an instruction than a new RIP. */
static void test_steps(void **state)
{
	static const struct {
		unsigned field;
		u64 value;
	} more[] = {
		{ RFLAGS, 1 << 8 }, { RFLAGS, 1 << 16 }, { BLOCKING, 1 },
		{ BLOCKING, 2 },    { RIP, 0xfffffff1 }, { RIP, 0xffffffff },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		setup(state);
		vcpu.regs.gpr[GPR_RAX] = 2;
		vmcs[more[i].field] = more[i].value;
		not_done(10);
		not_done(18);
		vcpu.regs.gpr[GPR_RCX] = 0x800;
		not_done(31);
		not_done(32);
		vmcs[QUALIFICATION] = 0x4d0u << 16 | 8;
		not_done(30);
	}
	setup(state);
	vcpu.stats.sample = vcpu.stats.next; /* to be timed */
	vcpu.regs.gpr[GPR_RAX] = 2;
	not_done(10);
	setup(state);
	vmcs[BLOCKING] = 8; /* of NMIs alone */
	vcpu.regs.gpr[GPR_RAX] = 2;
	does(10, VMEXIT_CPUID);
}

static void test_msr(void **state)
{
	vcpu.regs.gpr[GPR_RCX] = 0xffffffff00000800ull;
	device_msr = 0x123456789abcdef0ull;
	does(31, VMEXIT_RDMSR);
	assert_true(vcpu.regs.gpr[GPR_RAX] == 0x9abcdef0 && vcpu.regs.gpr[GPR_RDX] == 0x12345678);
	setup(state);
	vcpu.regs.gpr[GPR_RCX] = 0x800;
	does(32, VMEXIT_WRMSR);
	assert_int_equal(device_msr, (u64)GPR_RDX << 32 | GPR_RAX);
	/* It makes the vCPU look: RIP and counters stand. */
	setup(state);
	vcpu.regs.gpr[GPR_RCX] = 0x800;
	vcpu.regs.gpr[GPR_RAX] = 7;
	vcpu.regs.gpr[GPR_RDX] = 0;
	assert_int_equal(leave(32), VMX_ENTRY_DONE);
	assert_int_equal(vmcs[RIP], 0xffffffff81000002ull);
	assert_int_equal(vcpu.stats.exit[VMEXIT_WRMSR].count, 1);
	/* Refused by the device, and nobody's. */
	setup(state);
	for (u32 msr = 0x7ff; msr <= 0x900; msr++) {
		vcpu.regs.gpr[GPR_RCX] = msr == 0x800 ? 0x10 : msr;
		not_done(31);
		if (msr != 0x801)
			not_done(32);
	}
	assert_int_equal(device_msr, 0);
}

static void test_port(void **state)
{
	static const u64 read[] = { 0x11111111000000ffull, 0x111111110000ffffull, 0, 0xffffffff };

	for (unsigned size = 1; size <= 4; size *= 2) {
		setup(state);
		vmcs[QUALIFICATION] = 0x4d0u << 16 | 8 | (size - 1);
		does(30, VMEXIT_IO);
		assert_int_equal(vcpu.regs.gpr[GPR_RAX], read[size - 1]);
	}
	setup(state);
	vmcs[QUALIFICATION] = 0x4d0u << 16;
	does(30, VMEXIT_IO);
	assert_int_equal(vcpu.regs.gpr[GPR_RAX], 0x1111111100000000ull);
	setup(state);
	vmcs[QUALIFICATION] = 0x3f9u << 16 | 8;
	does(30, VMEXIT_IO);
	assert_true(ports == 1 && vcpu.regs.gpr[GPR_RAX] == 0x60);
	/* A string instruction; a breakpoint that may be on a port. */
	setup(state);
	vmcs[QUALIFICATION] = 0x3f9u << 16 | 1 << 4 | 8;
	not_done(30);
	vmcs[QUALIFICATION] = 0x3f9u << 16 | 8;
	vmcs[DR7] = 0x402;
	not_done(30);
}

static void test_hypercall(void **state)
{
	does(18, VMEXIT_HYPERCALL);
	assert_int_equal(vcpu.regs.gpr[GPR_RAX], (u64)-1000);
	setup(state);
	vmcs[SS_ATTR] = 0x40f3;
	vcpu.regs.gpr[GPR_RAX] = 0x4d470000;
	does(18, VMEXIT_HYPERCALL);
	assert_int_equal(vcpu.regs.gpr[GPR_RAX], (u64)-1);
	setup(state);
	for (u64 number = 0x4d470000; number <= 0x4d470001; number++) {
		vcpu.regs.gpr[GPR_RAX] = number;
		not_done(18);
	}
}

/*
 * Exit 48: the access that the qualification tells of (table 28-7); RF, which the exit has set,
 * goes (28.3.3).
 */
static void test_mmio(void **state)
{
	/* clang-format off */
	static const struct {
		unsigned field;
		u64 value;
	} more[] = {
		{ QUALIFICATION, 0x184 }, { QUALIFICATION, 0x81 }, { QUALIFICATION, 0x1181 },
		{ CUT, 0x80000b0e }, { DR7, 1 },
		{ RFLAGS, 0x10100 }, { BLOCKING, 2 }, { CR0, 0x80000030 }, { CR0, 0x31 },
		{ CR0, 0x80010031 },
		{ CR4, 0x2061 }, { CR4_SHADOW, 0x60 }, { CR3, 0x8000 }, { EFER, 0x501 },
		{ SS_ATTR, 0x40f3 }, { CS_ATTR, 0xc09b },
	};
	/* clang-format on */

	vmcs[QUALIFICATION] = 0x182;
	vmcs[ADDRESS] = 0xfee000b0;
	vmcs[RFLAGS] = 0x10246;
	mmio_len = 2;
	does(48, VMEXIT_STAGE2);
	assert_true(accessed.v == 0xfee000b0 && mmio_write && vmcs[RFLAGS] == 0x246);
	setup(state);
	vmcs[QUALIFICATION] = 0x181;
	mmio_len = 2;
	does(48, VMEXIT_STAGE2);
	assert_true(!mmio_write && !vmcs_writes[RFLAGS]);
	setup(state);
	vmcs[QUALIFICATION] = 0x181;
	vmcs[CR0] |= 8; /* TS is nothing to who fetches */
	mmio_len = 2;
	does(48, VMEXIT_STAGE2);
	setup(state);
	vmcs[QUALIFICATION] = 0x181;
	vmcs[RFLAGS] = 0x10246;
	not_done(48); /* another instruction */
	assert_int_equal(vmcs[RFLAGS], 0x10246);
	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		setup(state);
		mmio_len = 2;
		vmcs[ADDRESS] = 0xfee000b0;
		vmcs[QUALIFICATION] = 0x181;
		vmcs[more[i].field] = more[i].value;
		not_done(48);
		assert_int_equal(accessed.v, 0);
	}
	setup(state);
	mmio_len = 2;
	vmcs[QUALIFICATION] = 0x181;
	vmcs[EFER] = vcpu.fetched.context.efer = 0x901; /* not long mode, whatever CS says */
	not_done(48);
}

static void test_others(void **)
{
	for (u32 reason = 0; reason < 70; reason++)
		if (reason != 10 && reason != 48 && reason != 18 && (reason < 30 || reason > 32))
			not_done(reason);
	not_done(1u << 31 | 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cpuid, setup),
		cmocka_unit_test_setup(test_cpuid_not, setup),
		cmocka_unit_test_setup(test_steps, setup),
		cmocka_unit_test_setup(test_msr, setup),
		cmocka_unit_test_setup(test_port, setup),
		cmocka_unit_test_setup(test_hypercall, setup),
		cmocka_unit_test_setup(test_mmio, setup),
		cmocka_unit_test_setup(test_others, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
