/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * One entry into an SVM guest and its exit, with a VMCB in memory and a CPU
 * that stores what the test says: exit codes by the APM's numbers (vol. 2,
 * appendix C), what they carry, and the registers both ways. The file is included.
 *
 * What is expected goes by the manual's numbers. What the CPU itself does only whole machines tell.
 */
#include "tests/unit/fake_insn.h"

#include "vmm/svm/svm.h"

/* GIF, as these two leave it. */
u8 gif = 1;
asm(".macro clgi\n\tmovb $0, gif(%rip)\n.endm\n"
    ".macro stgi\n\tmovb $1, gif(%rip)\n.endm");

#undef HVM_BACKEND
#define HVM_BACKEND(ops) static_assert(sizeof(ops), "not linked")
#include "vmm/svm/run.c"

struct cpu_features cpu_features;
struct svm_features svm_features = { .nr_asids = 2, .nrips = true };

static struct vmcb vmcb;
static struct svm_vcpu svm;
static u32 kick;
static struct vcpu vcpu;
static struct vmexit out;
static struct vmcb at_entry;  /* what the CPU found */
static unsigned entries, clean_entries;
static bool as_unsettled;
static int dealt_with;       /* by the short way (lean.c) */
static void (*guest)(void);   /* what it leaves */

int svm_enter(struct guest_regs *regs, u64 vmcb_pa, u64 host_vmcb_pa, const u32 *word)
{
	assert_ptr_equal(regs, &vcpu.regs);
	assert_int_equal(vmcb_pa, 0x1000);
	assert_int_equal(host_vmcb_pa, 0x2000);
	assert_ptr_equal(word, &kick);
	assert_int_equal(gif, 0);
	gif = 1;
	at_entry = vmcb;
	entries++;
	as_unsettled = svm.unsettled;
	if (guest)
		guest();
	return dealt_with;
}

int svm_enter_clean(struct guest_regs *regs, u64 vmcb_pa, u64 host_vmcb_pa, const u32 *word)
{
	clean_entries++;
	return svm_enter(regs, vmcb_pa, host_vmcb_pa, word);
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
	memset(&vmcb, 0, sizeof(vmcb));
	memset(&vcpu, 0, sizeof(vcpu));
	svm = (struct svm_vcpu){ .vmcb = &vmcb, .vmcb_pa = 0x1000, .host_vmcb_pa = 0x2000 };
	vcpu.hvm = &svm;
	vcpu.kick = &kick;
	svm_features.nrips = true;
	svm_features.decode_assists = false;
	cpu_features.tcg = true;
	kick = entries = clean_entries = 0;
	dealt_with = SVM_ENTERED;
	guest = NULL;
	return 0;
}

/* An exit with this code and information. */
static void leave(u64 code, u64 info1, u64 info2)
{
	memset(&out, 0xff, sizeof(out));
	vmcb.exit_code = code;
	vmcb.exit_info1 = info1;
	vmcb.exit_info2 = info2;
	svm_run(&vcpu, &out);
	assert_int_equal(gif, 1);
}

/* What is nobody's here: intercepts that are never on, and numbers that the APM reserves. */
/* clang-format off */
static const struct {
	u64 code;
	enum vmexit_reason reason;
} codes[] = {
	{ 0x60, VMEXIT_EXTINT },       { 0x61, VMEXIT_NMI },          { 0x62, VMEXIT_UNKNOWN },
	    { 0x63, VMEXIT_INIT },
	{ 0x64, VMEXIT_IRQ_WINDOW },   { 0x65, VMEXIT_UNKNOWN },      { 0x66, VMEXIT_UNKNOWN },
	    { 0x67, VMEXIT_UNKNOWN },
	{ 0x6a, VMEXIT_UNKNOWN },      { 0x6e, VMEXIT_UNKNOWN },      { 0x6f, VMEXIT_RDPMC },
	      { 0x70, VMEXIT_UNKNOWN },
	{ 0x72, VMEXIT_CPUID },        { 0x73, VMEXIT_UNKNOWN },      { 0x76, VMEXIT_WBINVD },
	     { 0x77, VMEXIT_UNKNOWN },
	{ 0x78, VMEXIT_HLT },          { 0x79, VMEXIT_UNKNOWN },      { 0x7a, VMEXIT_VIRT_INSN },
	  { 0x7d, VMEXIT_UNKNOWN },
	{ 0x7e, VMEXIT_UNKNOWN },      { 0x7f, VMEXIT_TRIPLE_FAULT }, { 0x80, VMEXIT_VIRT_INSN },
	  { 0x81, VMEXIT_HYPERCALL },
	{ 0x82, VMEXIT_VIRT_INSN },    { 0x83, VMEXIT_VIRT_INSN },    { 0x84, VMEXIT_VIRT_INSN },
	  { 0x85, VMEXIT_VIRT_INSN },
	{ 0x86, VMEXIT_VIRT_INSN },    { 0x87, VMEXIT_UNKNOWN },      { 0x88, VMEXIT_UNKNOWN },
	    { 0x89, VMEXIT_WBINVD },
	{ 0x8a, VMEXIT_MWAIT },        { 0x8b, VMEXIT_MWAIT },        { 0x8c, VMEXIT_UNKNOWN },
	    { 0x8d, VMEXIT_XSETBV },
	{ 0x8e, VMEXIT_VIRT_INSN },    { 0xa4, VMEXIT_UNKNOWN },      { 0xa5, VMEXIT_BUS_LOCK },
	    { 0xa6, VMEXIT_UNKNOWN },
	{ 0x8f, VMEXIT_UNKNOWN },      { 0x90, VMEXIT_UNKNOWN },      { 0x401, VMEXIT_UNKNOWN },
	   { 0x403, VMEXIT_UNKNOWN },
	{ ~0ull, VMEXIT_ENTRY_FAILED }, { 0xffffffff, VMEXIT_ENTRY_FAILED },
};
/* clang-format on */

static void test_codes(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(codes); i++) {
		leave(codes[i].code, 0, 0);
		if (out.reason != codes[i].reason)
			fail_msg("exit %#lx: reason %u", codes[i].code, out.reason);
		assert_int_equal(out.raw, codes[i].code);
	}
}

/* The instruction has not been done; the next entry does one. */
static void test_bus_lock(void **)
{
	leave(0x72, 0, 0);
	assert_int_equal(vmcb.bus_lock_counter, 0);
	leave(0xa5, 0, 0);
	assert_int_equal(vmcb.bus_lock_counter, 1);
}

/* CR0 to CR15 read and written, the same of the debug registers. */
static void test_registers(void **)
{
	for (unsigned n = 0; n < 16; n++) {
		leave(n, 0, 0);
		assert_true(out.reason == VMEXIT_CR && out.cr.cr == n && !out.cr.write &&
			    !out.cr.decoded);
		leave(0x10 + n, 0, 0);
		assert_true(out.reason == VMEXIT_CR && out.cr.cr == n && out.cr.write &&
			    !out.cr.decoded);
		leave(0x20 + n, 0, 0);
		assert_int_equal(out.reason, VMEXIT_DR);
		leave(0x30 + n, 0, 0);
		assert_int_equal(out.reason, VMEXIT_DR);
	}
	leave(0x7c, 0, 0);
	assert_int_equal(out.reason, VMEXIT_RDMSR);
	leave(0x7c, 1, 0);
	assert_int_equal(out.reason, VMEXIT_WRMSR);
}

/*
 * Decode assists (15.33.1): EXITINFO1 has the register in bits 3:0, and bit 63 for MOV; CLTS, LMSW
 * and SMSW are not told apart.
 */
static void test_decode_assists(void **)
{
	for (unsigned gpr = 0; gpr < 16; gpr++) {
		svm_features.decode_assists = true;
		leave(0x14, 1ull << 63 | gpr, 0);
		assert_true(out.reason == VMEXIT_CR && out.cr.decoded && out.cr.kind == CR_MOV &&
			    out.cr.write);
		assert_true(out.cr.cr == 4 && out.cr.gpr == gpr);
		leave(0x08, 1ull << 63 | gpr, 0);
		assert_true(out.cr.decoded && out.cr.kind == CR_MOV && !out.cr.write &&
			    out.cr.cr == 8 && out.cr.gpr == gpr);
		leave(0x10, gpr, 0);
		assert_true(out.reason == VMEXIT_CR && !out.cr.decoded);
		/* Where CPUID does not promise it the field says nothing. */
		svm_features.decode_assists = false;
		leave(0x14, 1ull << 63 | gpr, 0);
		assert_false(out.cr.decoded);
	}
}

/* EXITINFO1 of IOIO (15.10.2), the next RIP in EXITINFO2. */
static void test_io(void **)
{
	vcpu.regs.rip = 0x7ffe;
	leave(0x7b, 0x0cfc0000 | 1 << 6, 0x8000);
	assert_int_equal(out.reason, VMEXIT_IO);
	assert_int_equal(out.insn_len, 2);
	assert_true(out.io.port == 0xcfc && out.io.size == 4 && !out.io.in && !out.io.string &&
		    !out.io.rep);
	leave(0x7b, 0x00710000 | 1 << 4 | 1, 0x8000);
	assert_true(out.io.port == 0x71 && out.io.size == 1 && out.io.in && !out.io.string &&
		    !out.io.rep);
	leave(0x7b, 0x01f00000 | 1 << 5 | 1 << 2 | 1, 0x8000);
	assert_true(out.io.port == 0x1f0 && out.io.size == 2 && out.io.in && out.io.string &&
		    !out.io.rep);
	leave(0x7b, 0x01f00000 | 1 << 5 | 1 << 3 | 1 << 2, 0x8000);
	assert_true(out.io.size == 2 && !out.io.in && out.io.string && out.io.rep);
}

/* EXITINFO1 of NPF (15.25.6): a page fault's error code, bit 33 in the guest's own tables. */
static void test_nested_fault(void **)
{
	leave(0x400, 1ull << 32 | 4, 0x123456789abcull);
	assert_int_equal(out.reason, VMEXIT_STAGE2);
	assert_int_equal(out.stage2.gpa.v, 0x123456789abcull);
	assert_true(!out.stage2.write && !out.stage2.exec && !out.stage2.walk);
	leave(0x400, 1ull << 32 | 6, 0);
	assert_true(out.stage2.write && !out.stage2.exec && !out.stage2.walk);
	leave(0x400, 1ull << 32 | 0x14, 0);
	assert_true(!out.stage2.write && out.stage2.exec && !out.stage2.walk);
	leave(0x400, 1ull << 33 | 6, 0);
	assert_true(out.stage2.write && out.stage2.walk);
}

/*
 * Vectors with an error code by table 8-1 of vol. 2; #PF's address comes in EXITINFO2. No machine
 * check: that is the host's.
 */
static void test_exceptions(void **)
{
	static const u32 with_error = 1u << 8 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 |
				      1u << 14 | 1u << 17 | 1u << 21;

	for (unsigned v = 0; v < 32; v++) {
		bool error = with_error >> v & 1;

		if (v == 18)
			continue;
		leave(0x40 + v, 0x5678, 0xfeedf00d0000ull);
		assert_int_equal(out.reason, VMEXIT_EXCEPTION);
		assert_int_equal(out.exception.vector, v);
		assert_int_equal(out.exception.has_error, error);
		assert_int_equal(out.exception.error, error ? 0x5678 : 0);
		assert_int_equal(out.exception.qualification, v == 14 ? 0xfeedf00d0000ull : 0);
	}
	leave(0x75, 0, 0);
	assert_true(out.reason == VMEXIT_EXCEPTION && out.exception.vector == 3 &&
		    !out.exception.has_error);
}

static void guest_moves(void)
{
	vmcb.rax = 0x8877665544332211ull;
	vmcb.rsp = 0xffffc90000123458ull;
	vmcb.rip = 0xffffffff81000003ull;
	vmcb.next_rip = 0xffffffff81000006ull;
	vmcb.rflags = 0x246;
	vmcb.int_state = 3; /* the shadow, and bit 1, which is not it */
}

/* The host deals with it; if the guest has to end, it has been told elsewhere. */
static void test_machine_check(void **)
{
	machine_checks = 0;
	leave(0x40 + 18, 0, 0);
	assert_int_equal(out.reason, VMEXIT_NMI);
	assert_int_equal(machine_checks, 1);
}

static void test_registers_both_ways(void **)
{
	guest = guest_moves;
	vcpu.regs.gpr[GPR_RAX] = 0x1122334455667788ull;
	vcpu.regs.gpr[GPR_RSP] = 0xffffffff82a03f50ull;
	vcpu.regs.rip = 0xffffffff81000000ull;
	vcpu.regs.rflags = 0x202;
	vcpu.regs.shadow = 1;
	vmcb.tlb_control = 1;
	vmcb.clean = 0x1f7;
	leave(0x72, 0, 0);
	assert_int_equal(at_entry.clean, 0);
	assert_int_equal(at_entry.rax, 0x1122334455667788ull);
	assert_int_equal(at_entry.rsp, 0xffffffff82a03f50ull);
	assert_int_equal(at_entry.rip, 0xffffffff81000000ull);
	assert_int_equal(at_entry.rflags, 0x202);
	assert_int_equal(at_entry.int_state, 1);
	assert_int_equal(at_entry.tlb_control, 1);
	assert_int_equal(vcpu.regs.gpr[GPR_RAX], 0x8877665544332211ull);
	assert_int_equal(vcpu.regs.gpr[GPR_RSP], 0xffffc90000123458ull);
	assert_int_equal(vcpu.regs.rip, 0xffffffff81000003ull);
	assert_int_equal(vcpu.regs.rflags, 0x246);
	assert_int_equal(vcpu.regs.shadow, 1);
	assert_int_equal(vmcb.tlb_control, 0);
	assert_int_equal(out.insn_len, 3);
	/* A CPU without next RIP: decode it. */
	svm_features.nrips = false;
	leave(0x72, 0, 0);
	assert_int_equal(out.insn_len, 0);
}

/* A kick before the entry: nothing is entered, and the event waits. */
static void test_kicked(void **)
{
	kick = 1;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_EXCEPTION, .vector = 6 };
	leave(0x72, 0, 0);
	assert_int_equal(out.reason, VMEXIT_KICKED);
	assert_int_equal(out.raw, 0);
	assert_int_equal(entries, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_EXCEPTION);
}

/* EVENTINJ (15.20): vector, type in bits 10:8, error code valid, valid, error code. */
static void test_injection(void **)
{
	vcpu.event = (struct hvm_event){
		.type = HVM_EVENT_EXCEPTION, .vector = 13, .has_error = true, .error = 0x1234
	};
	leave(0x78, 0, 0);
	assert_int_equal(at_entry.event_inj, 0x1234ull << 32 | 0x80000b0d);
	assert_int_equal(vmcb.event_inj, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_NMI, .vector = 2 };
	leave(0x78, 0, 0);
	assert_int_equal(at_entry.event_inj, 0x80000202);
	assert_true(svm.nmi_blocked);
	/*
	 * An interrupt as a virtual one (15.21.4): V_IRQ, the highest priority, V_IGN_TPR, the
	 * vector in bits 39:32.
	 */
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0xd1 };
	leave(0x78, 0, 0);
	assert_int_equal(at_entry.event_inj, 0);
	assert_int_equal(at_entry.v_intr, 0xd1ull << 32 | 1 << 20 | 15 << 16 | 1 << 8);
	/* It was not taken. */
	assert_int_equal(vcpu.event.type, HVM_EVENT_INTR);
	assert_int_equal(vcpu.event.vector, 0xd1);
	assert_int_equal(vmcb.v_intr & 1 << 8, 0);
}

/* Off TCG an interrupt is an event like any other, and comes back as one. */
static void test_interrupt_as_event(void **)
{
	cpu_features.tcg = false;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0xd1 };
	vmcb.exit_int_info = 0x800000d1;
	leave(0x400, 0, 0);
	assert_true(at_entry.event_inj == 0x800000d1 && !(at_entry.v_intr & 1 << 8) &&
		    !svm.posted && !vmcb.event_inj);
	assert_true(vcpu.event.type == HVM_EVENT_INTR && vcpu.event.vector == 0xd1);
}

/*
 * On the short way, and then flushed for a device's sake by the last ASID: the next entry does it.
 */
static void guest_unmaps(void)
{
	vmcb.tlb_control = 1;
}

static void test_flush_asked_by_device(void **)
{
	dealt_with = SVM_DONE;
	guest = guest_unmaps;
	leave(0x7b, 1, 0);
	guest = NULL;
	leave(0x7c, 1, 0);
	assert_true(at_entry.tlb_control == 1 && as_unsettled);
}

/*
 * Exits that were dealt with on the short way: registers as they are now, and nothing more to be
 * done.
 */
static void test_dealt_with(void **)
{
	dealt_with = SVM_DONE;
	guest = guest_moves;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_NMI, .vector = 2 };
	vmcb.exit_int_info = 0x800000d1;
	leave(0x7c, 1, 0);
	assert_int_equal(out.reason, VMEXIT_DONE);
	assert_true(vcpu.regs.rip == 0xffffffff81000003ull && vcpu.regs.rflags == 0x246 &&
		    vcpu.regs.gpr[GPR_RSP] == 0xffffc90000123458ull);
	assert_true(vcpu.event.type == HVM_EVENT_NONE && vmcb.event_inj == 0);
	/* What an entry takes along is known to be forgotten. */
	assert_true(as_unsettled);
	vmcb.exit_int_info = 0;
	leave(0x7c, 1, 0);
	assert_false(as_unsettled);
	vmcb.tlb_control = 1;
	leave(0x7c, 1, 0);
	assert_true(as_unsettled);
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0xd1 };
	leave(0x7c, 1, 0);
	assert_true(as_unsettled);
	setup(NULL);
	svm_request_nmi_window(&vcpu);
	leave(0x7c, 1, 0);
	assert_true(as_unsettled);
}

/* EXITINTINFO (15.7.2): what the exit cut short is injected again, INT3 runs again. */
static void test_cut_delivery(void **)
{
	vmcb.exit_int_info = 0x42ull << 32 | 0x80000b0e;
	leave(0x400, 0, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_EXCEPTION);
	assert_true(vcpu.event.vector == 14 && vcpu.event.has_error && vcpu.event.error == 0x42);
	vcpu.event.type = HVM_EVENT_NONE;
	vmcb.exit_int_info = 0x800000d1;
	leave(0x400, 0, 0);
	assert_true(vcpu.event.type == HVM_EVENT_INTR && vcpu.event.vector == 0xd1);
	vcpu.event.type = HVM_EVENT_NONE;
	vmcb.exit_int_info = 0x80000202;
	leave(0x400, 0, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NMI);
	vcpu.event.type = HVM_EVENT_NONE;
	vmcb.exit_int_info = 0x80000303;
	leave(0x400, 0, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
	vmcb.exit_int_info = 0x80000480;
	leave(0x400, 0, 0);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
}

/*
 * NMIs stay blocked until the IRET has run: it is intercepted, then stepped, and the guest's TF
 * comes back.
 */
static void test_nmi_window(void **)
{
	svm.nmi_blocked = true;
	vmcb.intercept_misc1 = 1u << 20;
	leave(0x74, 0, 0);
	assert_int_equal(out.reason, VMEXIT_NMI_WINDOW);
	assert_int_equal(vmcb.intercept_misc1, 0);
	assert_true(svm.nmi_blocked && svm.stepping);
	assert_int_equal(vcpu.regs.rflags, 1 << 8);
	vmcb.dr6 = 0xffff4ff0;
	leave(0x41, 0, 0);
	assert_int_equal(out.reason, VMEXIT_NMI_WINDOW);
	assert_false(svm.nmi_blocked || svm.stepping);
	assert_int_equal(vcpu.regs.rflags, 0);
	assert_int_equal(vmcb.dr6, 0xffff0ff0);
}

/*
 * The guest's frame of what is delivered while a step was wanted has its own TF; the handler's IRET
 * exits.
 */
static void test_step_and_delivery(void **state)
{
	static const enum hvm_event_type types[] = { HVM_EVENT_EXCEPTION, HVM_EVENT_INTR,
						     HVM_EVENT_NMI };

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		setup(state);
		svm_request_nmi_window(&vcpu);
		assert_true(svm.stepping && vcpu.regs.rflags == 1 << 8);
		vcpu.event = (struct hvm_event){ .type = types[i], .vector = 14 };
		leave(0x78, 0, 0);
		assert_int_equal(at_entry.rflags, 0);
		assert_false(svm.stepping);
		assert_int_equal(at_entry.intercept_misc1 & 1u << 20, 1u << 20);
	}
}

/* The window is a virtual interrupt that is intercepted (intercept 4 of offset 00Ch). */
static void test_interrupt_window(void **)
{
	svm_request_irq_window(&vcpu, true);
	assert_int_equal(vmcb.v_intr, 1 << 20 | 15 << 16 | 1 << 8);
	assert_int_equal(vmcb.intercept_misc1, 1 << 4);
	svm_request_irq_window(&vcpu, false);
	assert_int_equal(vmcb.v_intr, 0);
	assert_int_equal(vmcb.intercept_misc1, 0);
}

/*
 * Whatever is done at exits or entries is done by the other switch, and nothing else brings that.
 */
static void test_clean(void **)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		vcpu.mitigations = 1u << bit;
		clean_entries = 0;
		leave(0x72, 0, 0);
		assert_int_equal(clean_entries, bit != 1 && bit != 6 && bit < 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_codes, setup),
		cmocka_unit_test_setup(test_registers, setup),
		cmocka_unit_test_setup(test_decode_assists, setup),
		cmocka_unit_test_setup(test_io, setup),
		cmocka_unit_test_setup(test_nested_fault, setup),
		cmocka_unit_test_setup(test_machine_check, setup),
		cmocka_unit_test_setup(test_exceptions, setup),
		cmocka_unit_test_setup(test_registers_both_ways, setup),
		cmocka_unit_test_setup(test_kicked, setup),
		cmocka_unit_test_setup(test_injection, setup),
		cmocka_unit_test_setup(test_cut_delivery, setup),
		cmocka_unit_test_setup(test_dealt_with, setup),
		cmocka_unit_test_setup(test_interrupt_as_event, setup),
		cmocka_unit_test_setup(test_flush_asked_by_device, setup),
		cmocka_unit_test_setup(test_nmi_window, setup),
		cmocka_unit_test_setup(test_bus_lock, setup),
		cmocka_unit_test_setup(test_step_and_delivery, setup),
		cmocka_unit_test_setup(test_interrupt_window, setup),
		cmocka_unit_test_setup(test_clean, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
