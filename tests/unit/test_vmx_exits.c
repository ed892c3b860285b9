/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * One entry into a VT-x guest and its exit, with a VMCS in memory and a CPU
 * that stores what the test says: exit reasons by the SDM's numbers (vol. 3,
 * appendix C), their qualifications, entries that fail, the registers both
 * ways. The file is included.
 *
 * What is expected goes by the manual's numbers. What the CPU itself does only whole machines tell.
 */
#include "tests/unit/fake_vmcs.h"

#undef HVM_BACKEND
#define HVM_BACKEND(ops) static_assert(sizeof(ops), "not linked")
#include "vmm/vmx/run.c"

struct vmx_controls vmx_controls;

/* Fields, by appendix B. */
enum {
	CONTROLS = 0x4002,
	INJECT = 0x4016,
	INJECT_ERROR = 0x4018,
	INSN_ERROR = 0x4400,
	REASON = 0x4402,
	INFO = 0x4404,
	INFO_ERROR = 0x4406,
	CUT = 0x4408,
	CUT_ERROR = 0x440a,
	LENGTH = 0x440c,
	BLOCKING = 0x4824,
	QUALIFICATION = 0x6400,
	ADDRESS = 0x2400,
	RSP = 0x681c,
	RIP = 0x681e,
	RFLAGS = 0x6820,
	PENDING_DEBUG = 0x6822,
};

static struct vmx_vcpu vmx;
static u32 kick;
static struct vcpu vcpu;
static struct vmexit out;
static int entry;             /* what VMLAUNCH and VMRESUME come to */
static bool as_launched, as_clean;
static u64 injected, injected_error;
static int nmi_blocked;       /* what vmx_set() was told; -1: nothing */
static void (*guest)(void);   /* what it leaves */

int vmx_enter(struct guest_regs *regs, bool launched, const u32 *word)
{
	assert_ptr_equal(regs, &vcpu.regs);
	assert_ptr_equal(word, &kick);
	as_launched = launched;
	as_clean = false;
	injected = vmcs[INJECT];
	injected_error = vmcs[INJECT_ERROR];
	if (entry == VMX_ENTERED || entry == VMX_ENTRY_DONE) {
		vmcs[INJECT] &= ~(1ull << 31); /* an exit clears the valid bit (27.2.3) */
		if (guest)
			guest();
	}
	return entry;
}

int vmx_enter_clean(struct guest_regs *regs, bool launched, const u32 *word)
{
	int result = vmx_enter(regs, launched, word);

	as_clean = true;
	return result;
}

void vmx_set(struct vcpu *v, enum hvm_reg reg, u64 value)
{
	assert_ptr_equal(v, &vcpu);
	assert_int_equal(reg, HVM_NMI_BLOCKED);
	nmi_blocked = (int)value;
}

void vmx_set_interruptibility(struct vmx_vcpu *x, u64 value)
{
	x->interruptibility = value;
	vmcs[BLOCKING] = value;
}

static unsigned machine_checks;

enum mc_outcome upcall_machine_check(enum mc_place place)
{
	assert_int_equal(place, MC_IN_GUEST);
	machine_checks++;
	return MC_GOES_ON;
}

void upcall_panic(const char *, ...)
{
	__builtin_trap();
}

static int setup(void **)
{
	fake_vmcs_reset();
	memset(&vcpu, 0, sizeof(vcpu));
	memset(&vmx, 0, sizeof(vmx));
	vcpu.hvm = &vmx;
	vcpu.kick = &kick;
	entry = VMX_ENTERED;
	guest = NULL;
	nmi_blocked = -1;
	return 0;
}

static void leave(u64 reason, u64 qualification)
{
	memset(&out, 0xff, sizeof(out));
	vmcs[REASON] = reason;
	vmcs[QUALIFICATION] = qualification;
	vmx_run(&vcpu, &out);
}

/* clang-format off */
static const struct {
	u32 reason;
	enum vmexit_reason is;
} reasons[] = {
	{ 1, VMEXIT_EXTINT },      { 2, VMEXIT_TRIPLE_FAULT }, { 3, VMEXIT_INIT },
	      { 4, VMEXIT_UNKNOWN },
	{ 5, VMEXIT_UNKNOWN },     { 6, VMEXIT_UNKNOWN },      { 7, VMEXIT_IRQ_WINDOW },
	{ 8, VMEXIT_NMI_WINDOW },
	{ 9, VMEXIT_TASK_SWITCH }, { 10, VMEXIT_CPUID },       { 11, VMEXIT_VIRT_INSN },
	{ 12, VMEXIT_HLT },
	{ 13, VMEXIT_WBINVD },     { 14, VMEXIT_UNKNOWN },     { 15, VMEXIT_RDPMC },
	    { 16, VMEXIT_UNKNOWN },
	{ 17, VMEXIT_UNKNOWN },    { 18, VMEXIT_HYPERCALL },   { 19, VMEXIT_VIRT_INSN },
	{ 20, VMEXIT_VIRT_INSN },
	{ 21, VMEXIT_VIRT_INSN },  { 22, VMEXIT_VIRT_INSN },   { 23, VMEXIT_VIRT_INSN },
	{ 24, VMEXIT_VIRT_INSN },
	{ 25, VMEXIT_VIRT_INSN },  { 26, VMEXIT_VIRT_INSN },   { 27, VMEXIT_VIRT_INSN },
	{ 29, VMEXIT_DR },
	{ 31, VMEXIT_RDMSR },      { 32, VMEXIT_WRMSR },       { 35, VMEXIT_UNKNOWN },
	  { 36, VMEXIT_MWAIT },
	{ 37, VMEXIT_UNKNOWN },    { 39, VMEXIT_MWAIT },       { 40, VMEXIT_UNKNOWN },
	  { 43, VMEXIT_UNKNOWN },
	{ 46, VMEXIT_UNKNOWN },    { 47, VMEXIT_UNKNOWN },     { 49, VMEXIT_UNKNOWN },
	  { 50, VMEXIT_VIRT_INSN },
	{ 51, VMEXIT_UNKNOWN },    { 52, VMEXIT_UNKNOWN },     { 53, VMEXIT_VIRT_INSN },
	{ 54, VMEXIT_WBINVD },
	{ 55, VMEXIT_XSETBV },     { 56, VMEXIT_UNKNOWN },     { 63, VMEXIT_UNKNOWN },
	  { 64, VMEXIT_UNKNOWN },
	{ 73, VMEXIT_UNKNOWN },    { 74, VMEXIT_BUS_LOCK },    { 75, VMEXIT_UNKNOWN },
	  { 76, VMEXIT_VIRT_INSN },
	{ 77, VMEXIT_VIRT_INSN },  { 78, VMEXIT_UNKNOWN },     { 79, VMEXIT_UNKNOWN },
	{ 1u << 31 | 33, VMEXIT_ENTRY_FAILED }, { 1u << 31 | 34, VMEXIT_ENTRY_FAILED },
	{ 1u << 31 | 41, VMEXIT_NMI },
};
/* clang-format on */

static void test_reasons(void **)
{
	vmcs[LENGTH] = 5;
	for (unsigned i = 0; i < ARRAY_SIZE(reasons); i++) {
		leave(reasons[i].reason, 0);
		if (out.reason != reasons[i].is)
			fail_msg("exit %#x: reason %u", reasons[i].reason, out.reason);
		assert_int_equal(out.raw, reasons[i].reason);
		assert_int_equal(out.insn_len, 5);
	}
}

/* Bit 26 of whatever exit: a bus lock came before it, and counts, too. */
static void test_bus_lock(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(reasons); i++) {
		vcpu.bus_locked = vcpu.look = false;
		leave(reasons[i].reason, 0);
		assert_true(!vcpu.bus_locked && !vcpu.look);
		leave(1u << 26 | reasons[i].reason, 0);
		assert_int_equal(out.reason, reasons[i].is);
		assert_int_equal(out.raw, 1u << 26 | reasons[i].reason);
		/* An entry that failed has run nothing. */
		assert_true(vcpu.bus_locked == !(reasons[i].reason >> 31) &&
			    vcpu.look == vcpu.bus_locked);
	}
}

/* VMLAUNCH or VMRESUME that fails leaves no exit reason, but an instruction error (31.4). */
static void test_not_entered(void **)
{
	vmcs[INSN_ERROR] = 7;
	entry = VMX_ENTRY_FAILED;
	leave(12, 0);
	assert_int_equal(out.reason, VMEXIT_ENTRY_FAILED);
	assert_int_equal(out.raw, 7);
	assert_false(vmx.launched);
	/* Kicked: the event waits on, and is not left in the VMCS. */
	entry = VMX_ENTRY_KICKED;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x31 };
	leave(12, 0);
	assert_int_equal(out.reason, VMEXIT_KICKED);
	assert_int_equal(out.raw, 0);
	assert_int_equal(injected, 0x80000031);
	assert_int_equal(vmcs[INJECT], 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_INTR);
	assert_false(vmx.launched);
	/* The first time that it gets in is VMLAUNCH, the next VMRESUME. */
	entry = VMX_ENTERED;
	leave(12, 0);
	assert_false(as_launched);
	leave(12, 0);
	assert_true(as_launched);
}

/* Table 28-3. */
static void test_control_registers(void **)
{
	leave(28, 0xb << 8 | 3);
	assert_int_equal(out.reason, VMEXIT_CR);
	assert_true(out.cr.decoded && out.cr.kind == CR_MOV && out.cr.write && out.cr.cr == 3 &&
		    out.cr.gpr == 11);
	leave(28, 0xf << 8 | 1 << 4 | 8);
	assert_true(out.cr.decoded && out.cr.kind == CR_MOV && !out.cr.write && out.cr.cr == 8 &&
		    out.cr.gpr == 15);
	leave(28, 2 << 4);
	assert_true(out.cr.kind == CR_CLTS && out.cr.write && out.cr.cr == 0);
	leave(28, 0xfff1ull << 16 | 3 << 4);
	assert_true(out.cr.kind == CR_LMSW && out.cr.write && out.cr.cr == 0 &&
		    out.cr.lmsw == 0xfff1);
}

/* Table 28-5. */
static void test_io(void **)
{
	leave(30, 0x0cfc0000 | 3);
	assert_int_equal(out.reason, VMEXIT_IO);
	assert_true(out.io.port == 0xcfc && out.io.size == 4 && !out.io.in && !out.io.string &&
		    !out.io.rep);
	leave(30, 0x00710000 | 1 << 3);
	assert_true(out.io.port == 0x71 && out.io.size == 1 && out.io.in && !out.io.string &&
		    !out.io.rep);
	leave(30, 0x01f00000 | 1 << 4 | 1);
	assert_true(out.io.size == 2 && !out.io.in && out.io.string && !out.io.rep);
	leave(30, 0x01f00000 | 1 << 5 | 1 << 4 | 1 << 3 | 1);
	assert_true(out.io.size == 2 && out.io.in && out.io.string && out.io.rep);
}

/* Table 28-7; bit 12 where the IRET that ended NMI blocking met it. */
static void test_ept_violation(void **)
{
	vmcs[ADDRESS] = 0x123456789abcull;
	leave(48, 1 << 8 | 1 << 7 | 1);
	assert_int_equal(out.reason, VMEXIT_STAGE2);
	assert_int_equal(out.stage2.gpa.v, 0x123456789abcull);
	assert_true(!out.stage2.write && !out.stage2.exec && !out.stage2.walk);
	leave(48, 1 << 8 | 1 << 7 | 2);
	assert_true(out.stage2.write && !out.stage2.exec && !out.stage2.walk);
	leave(48, 1 << 8 | 1 << 7 | 4);
	assert_true(!out.stage2.write && out.stage2.exec && !out.stage2.walk);
	leave(48, 1 << 7 | 2);
	assert_true(out.stage2.write && out.stage2.walk);
	leave(48, 1);
	assert_false(out.stage2.walk);
	assert_int_equal(nmi_blocked, -1);
	leave(48, 1 << 12 | 1);
	assert_int_equal(nmi_blocked, 1);
}

/* Table 25-18: type in bits 10:8, error code valid in bit 11, NMI unblocking in bit 12. */
static void test_exceptions(void **)
{
	vmcs[INFO_ERROR] = 0x42;
	vmcs[INFO] = 0x80000b0e;
	leave(0, 0xfeedf00d0000ull);
	assert_int_equal(out.reason, VMEXIT_EXCEPTION);
	assert_true(out.exception.vector == 14 && out.exception.has_error &&
		    out.exception.error == 0x42);
	assert_int_equal(out.exception.qualification, 0xfeedf00d0000ull);
	vmcs[INFO] = 0x80000306;
	leave(0, 0);
	assert_true(out.exception.vector == 6 && !out.exception.has_error && !out.exception.error);
	assert_int_equal(nmi_blocked, -1);
	vmcs[INFO] = 0x80001b0d;
	leave(0, 0);
	assert_int_equal(nmi_blocked, 1);
	nmi_blocked = -1;
	vmcs[INFO] = 0x80001b08; /* not with a double fault */
	leave(0, 0);
	assert_int_equal(nmi_blocked, -1);
	/* INT1 (type 5): a trap that comes with RIP still on it. */
	vmcs[INFO] = 0x80000501;
	vcpu.regs.rip = 0x1000;
	vmcs[LENGTH] = 1;
	leave(0, 1 << 14);
	assert_true(out.exception.vector == 1 && out.exception.qualification == 0 &&
		    vcpu.regs.rip == 0x1001);
	/* Single-step in the shadow of MOV SS: the entry wants it pending (27.3.1.5). */
	vmcs[INFO] = 0x80000301;
	vmcs[RFLAGS] = 0x102;
	vmcs[BLOCKING] = 2;
	leave(0, 1);
	assert_int_equal(vmcs[PENDING_DEBUG], 1 << 14);
}

static void guest_moves(void)
{
	vmcs[RSP] = 0xffffc90000123458ull;
	vmcs[RIP] = 0xffffffff81000003ull;
	vmcs[RFLAGS] = 0x246;
	vmcs[BLOCKING] = 9; /* by STI, and of NMIs */
}

/* The host deals with it; if the guest has to end, it has been told elsewhere. */
static void test_machine_check(void **)
{
	machine_checks = 0;
	vmcs[INFO] = 1u << 31 | 3 << 8 | 18;
	leave(0, 0);
	assert_int_equal(out.reason, VMEXIT_NMI);
	assert_int_equal(machine_checks, 1);
	/*
	 * While it was entered: what the exit before has cut is no news, and what was to be
	 * injected is so by the next entry.
	 */
	vmcs[CUT] = 1u << 31 | 0x40;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x50 };
	leave(1u << 31 | 41, 0);
	assert_int_equal(out.reason, VMEXIT_NMI);
	assert_int_equal(machine_checks, 2);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
}

static void test_registers_both_ways(void **)
{
	vcpu.regs.gpr[GPR_RSP] = 0xffffffff82a03f50ull;
	vcpu.regs.rip = 0xffffffff81000000ull;
	vcpu.regs.rflags = 0x202;
	entry = VMX_ENTRY_KICKED;
	leave(10, 0);
	assert_int_equal(vmcs[RSP], 0xffffffff82a03f50ull);
	assert_int_equal(vmcs[RIP], 0xffffffff81000000ull);
	assert_int_equal(vmcs[RFLAGS], 0x202);
	entry = VMX_ENTERED;
	guest = guest_moves;
	leave(10, 0);
	assert_int_equal(vcpu.regs.gpr[GPR_RSP], 0xffffc90000123458ull);
	assert_int_equal(vcpu.regs.rip, 0xffffffff81000003ull);
	assert_int_equal(vcpu.regs.rflags, 0x246);
	assert_int_equal(vcpu.regs.shadow, 1);
	/* Emulation has ended the shadow: of the blocking only NMIs' is left. */
	vcpu.regs.shadow = 0;
	guest = NULL;
	leave(10, 0);
	assert_int_equal(vmcs[BLOCKING], 8);
}

/*
 * Exits that were dealt with on the short way: registers as they are now, and nothing more to be
 * done.
 */
static void test_dealt_with(void **)
{
	entry = VMX_ENTRY_DONE;
	guest = guest_moves;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_NMI, .vector = 2 };
	vmcs[CUT] = 0x800000d1;
	leave(48, 0);
	assert_int_equal(out.reason, VMEXIT_DONE);
	assert_true(vcpu.regs.rip == 0xffffffff81000003ull && vcpu.regs.rflags == 0x246 &&
		    vcpu.regs.shadow == 1 && vcpu.regs.gpr[GPR_RSP] == 0xffffc90000123458ull);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
	assert_true(vmx.launched);
}

/* Table 25-17. */
static void test_injection(void **)
{
	vcpu.event = (struct hvm_event){
		.type = HVM_EVENT_EXCEPTION, .vector = 13, .has_error = true, .error = 0x1234
	};
	leave(12, 0);
	assert_int_equal(injected, 0x80000b0d);
	assert_int_equal(injected_error, 0x1234);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_NMI, .vector = 2 };
	leave(12, 0);
	assert_int_equal(injected, 0x80000202);
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0xd1 };
	leave(12, 0);
	assert_int_equal(injected, 0x800000d1);
	leave(12, 0);
	assert_int_equal(injected & 1ull << 31, 0);
}

/* What the exit cut short is injected again; software events (types 4 to 6) run again. */
static void test_cut_delivery(void **)
{
	vmcs[CUT_ERROR] = 0x42;
	vmcs[CUT] = 0x80000b0e;
	leave(48, 0);
	assert_true(vcpu.event.type == HVM_EVENT_EXCEPTION && vcpu.event.vector == 14 &&
		    vcpu.event.has_error && vcpu.event.error == 0x42);
	vmcs[CUT] = 0x800000d1;
	leave(48, 0);
	assert_true(vcpu.event.type == HVM_EVENT_INTR && vcpu.event.vector == 0xd1 &&
		    !vcpu.event.has_error);
	assert_int_equal(nmi_blocked, -1);
	vmcs[CUT] = 0x80000202;
	leave(48, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NMI);
	assert_int_equal(nmi_blocked, 0);
	for (u32 type = 4; type <= 6; type++) {
		vmcs[CUT] = 0x80000003 | type << 8;
		leave(48, 0);
		assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
	}
	vmcs[CUT] = 0xd1;
	leave(48, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
}

/* Bits 2, 22 and 23 of the primary controls (table 25-6); the NMI window ends by itself. */
static void test_windows(void **)
{
	vmx.proc_controls = 1u << 31;
	vmx_request_irq_window(&vcpu, true);
	vmx_request_nmi_window(&vcpu);
	assert_int_equal(vmcs[CONTROLS], 1u << 31 | 1 << 22 | 1 << 2);
	vmx_request_irq_window(&vcpu, false);
	vmx_intercept_dr(&vcpu, true);
	assert_int_equal(vmcs[CONTROLS], 1u << 31 | 1 << 23 | 1 << 22);
	leave(8, 0);
	assert_int_equal(vmcs[CONTROLS], 1u << 31 | 1 << 23);
}

/*
 * Whatever is done at exits or entries is done by the other switch, and nothing else brings that.
 */
static void test_clean(void **)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		vcpu.mitigations = 1u << bit;
		leave(12, 0);
		assert_int_equal(as_clean, bit != 1 && bit != 6 && bit < 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bus_lock, setup),
		cmocka_unit_test_setup(test_reasons, setup),
		cmocka_unit_test_setup(test_not_entered, setup),
		cmocka_unit_test_setup(test_control_registers, setup),
		cmocka_unit_test_setup(test_io, setup),
		cmocka_unit_test_setup(test_ept_violation, setup),
		cmocka_unit_test_setup(test_exceptions, setup),
		cmocka_unit_test_setup(test_machine_check, setup),
		cmocka_unit_test_setup(test_registers_both_ways, setup),
		cmocka_unit_test_setup(test_injection, setup),
		cmocka_unit_test_setup(test_cut_delivery, setup),
		cmocka_unit_test_setup(test_dealt_with, setup),
		cmocka_unit_test_setup(test_windows, setup),
		cmocka_unit_test_setup(test_clean, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
