/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_gdb_stub.sources */
/*
 * The gdb stub over a recording backend: packets in, packets out, and what the guest's vCPUs are
 * made to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "tests/unit/fake_stage.h"
#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/vm/debugger.h"

#define CODE 0x1000u
#define STACK 0x3000u
#define IDT 0x4000u
#define HANDLER 0xffffffff81234567ull
#define BS BIT(14)

extern void (*const __start_monitor_services[])(void), (*const __stop_monitor_services[])(void);

const struct debugger *debugger;
struct hvm_caps hvm_caps;
static u64 reg[HVM_REGS];
static struct segment segs[SEG_COUNT];
static u32 exceptions;
static bool dr_intercepted, vm_there;
static struct vm *vm;
static struct vcpu *vcpu, second;
static char out[16384];
static size_t out_length;
static void (*to_stub)(u8 byte);

static u64 get(struct vcpu *v, enum hvm_reg r)
{
	(void)v;
	return reg[r];
}
static void set(struct vcpu *v, enum hvm_reg r, u64 value)
{
	(void)v;
	reg[r] = value;
}
static void get_segment(struct vcpu *v, enum seg s, struct segment *o)
{
	(void)v;
	*o = segs[s];
}
static void set_segment(struct vcpu *v, enum seg s, const struct segment *in)
{
	(void)v;
	segs[s] = *in;
}
static void intercept(struct vcpu *v, u32 vectors)
{
	(void)v;
	exceptions = vectors;
}
static void intercept_dr(struct vcpu *v, bool on)
{
	(void)v;
	dr_intercepted = on;
}

static void get_context(struct vcpu *, struct hvm_context *c)
{
	*c = (struct hvm_context){ .cr0 = reg[HVM_CR0],
				   .efer = reg[HVM_EFER],
				   .cs_attr = segs[SEG_CS].attr };
}

static void get_desc_table(struct vcpu *, bool idt, struct desc_table *o)
{
	*o = (struct desc_table){ .base = idt ? IDT : 0, .limit = 0xfff };
}

static const struct hvm_ops recorder = {
	.get = get,
	.set = set,
	.get_segment = get_segment,
	.set_segment = set_segment,
	.get_context = get_context,
	.get_desc_table = get_desc_table,
	.intercept_exceptions = intercept,
	.intercept_dr = intercept_dr,
};
const struct hvm_ops *hvm = &recorder;

/* ---- what the stub asks of the rest ---- */

const char *host_debug_name(void)
{
	return "vm0";
}
int host_debug_listen(void (*rx)(u8 byte))
{
	to_stub = rx;
	return 0;
}
unsigned monitor_vm_count(void)
{
	return 1;
}
const char *monitor_vm_name(unsigned i)
{
	return i ? NULL : "vm0";
}
struct vm *monitor_vm_hold(unsigned i)
{
	return !i && vm_there ? vm : NULL;
}
void monitor_vm_release(void) { }

void host_debug_send(const u8 *bytes, unsigned n)
{
	assert_true(out_length + n < sizeof(out));
	memcpy(out + out_length, bytes, n);
	out[out_length += n] = 0;
}

int vm_pause(struct vm *v)
{
	v->paused = true;
	return 0;
}
int vm_resume(struct vm *v)
{
	v->paused = false;
	return 0;
}

/* ---- the test's side of the line ---- */

/* The vCPUs' CPUs: out of the guest commands are served; false: this one may not enter. */
static bool turn(struct vcpu *v)
{
	if (v->debug.wanted)
		debugger->serve(v);
	return !vcpu_paused(v) && (!v->debug.work || debugger->enter(v));
}

static void type_bytes(const char *bytes, size_t n)
{
	out_length = out[0] = 0;
	while (n--)
		to_stub((u8)*bytes++);
	if (vcpu->debug.wanted)
		debugger->serve(vcpu);
	if (second.debug.wanted)
		debugger->serve(&second);
}

static void type(const char *text)
{
	type_bytes(text, strlen(text));
}

static void send(const char *text)
{
	char packet[512];
	u8 sum = 0;

	for (const char *p = text; *p; p++)
		sum += (u8)*p;
	snprintf(packet, sizeof(packet), "$%s#%02x", text, sum);
	type(packet);
}

/* The text of the last packet out. */
static const char *said(void)
{
	static char text[sizeof(out)];
	const char *end = strrchr(out, '#'), *begin = strrchr(out, '$');

	if (!end || !begin)
		return "nothing";
	snprintf(text, sizeof(text), "%.*s", (int)(end - begin - 1), begin + 1);
	return text;
}

#define expect(command, answer) \
	do { \
		send(command); \
		assert_string_equal(said(), answer); \
	} while (0)

static void code(const char *bytes, unsigned n)
{
	assert_int_equal(guest_write(vm, gpa(CODE), bytes, n), 0);
	vcpu->regs.rip = CODE;
}

static u8 byte_at(u64 addr)
{
	u8 b;

	assert_int_equal(guest_read(vm, gpa(addr), &b, 1), 0);
	return b;
}

static bool exception(u8 vector, u64 qualification)
{
	const struct vmexit exit = { .reason = VMEXIT_EXCEPTION,
				     .exception = { .vector = vector,
						    .has_error = vector == VEC_PF,
						    .error = 2,
						    .qualification = qualification } };

	out_length = out[0] = 0;
	return debugger->exception(vcpu, &exit);
}

static int setup(void **)
{
	u8 gate[16] = { 0x67, 0x45, 0x10, 0, 0, 0x8e, 0x23, 0x81, 0xff, 0xff, 0xff, 0xff };

	fake_host_reset();
	vm = fake_vm_create(MIB(2));
	vcpu = vm->vcpus[0];
	second = (struct vcpu){ .vm = vm, .id = 1 };
	vm->vcpus[1] = &second;
	vm->nr_vcpus = 2;
	vm_there = true;
	memset(reg, 0, sizeof(reg));
	memset(segs, 0, sizeof(segs));
	segs[SEG_CS] = (struct segment){ .selector = 0x33, .attr = 0xa0fb };
	reg[HVM_EFER] = EFER_LMA | EFER_SCE;
	reg[HVM_DR6] = DR6_NONE;
	reg[HVM_DR7] = 0x400;
	vcpu->regs =
		(struct guest_regs){ .rip = CODE,
				     .rflags = 0x202,
				     .gpr = { [GPR_RAX] = 0x1122334455667788, [GPR_RSP] = STACK } };
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(guest_write(vm, gpa(IDT + 16 * i), gate, sizeof(gate)), 0);
	for (void (*const *s)(void) = __start_monitor_services; s < __stop_monitor_services; s++)
		(*s)();
	send("qSupported:swbreak+;hwbreak+");
	assert_non_null(strstr(said(), "PacketSize=800;qXfer:features:read+"));
	return 0;
}

static int teardown(void **)
{
	fake_stage(STAGE_DEBUGGER)->destroy(vm);
	vm->nr_vcpus = 1;
	fake_vm_destroy(vm);
	return 0;
}

static void test_session(void **)
{
	expect("vCont;c", "E16"); /* nobody has stopped it */
	type("\003garbage $?#00");
	assert_string_equal(out, "-");
	assert_false(vm->paused);
	expect("?", "T05thread:1;");
	assert_true(vm->paused);
	type("-");
	assert_string_equal(said(), "T05thread:1;");
	expect("qfThreadInfo", "m1,2");
	expect("Hg2", "OK");
	expect("qC", "QC2");
	expect("Hg3", "E16");
	expect("Hg1", "OK");
	expect("vCont;s:1", "nothing");
	assert_false(vm->paused);
	assert_true(second.debug.hold && !vcpu->debug.hold && !turn(&second));
	type("\003");
	assert_string_equal(said(), "T02thread:1;");
	assert_true(vm->paused && !second.debug.hold);
	expect("QStartNoAckMode", "OK");
	expect("qAttached", "1");
	assert_string_equal(out, "$1#31");
	expect("D", "OK");
	assert_false(vm->paused);
	vm_there = false;
	expect("?", "W00");
}

/* Of no weight in the checksum: a break, or a UART's error. Binary data may have them. */
static void test_nuls(void **)
{
	static const char query[] = "$\0qAtt\0\0ached\0#\08f", write[] = "$X1100,2:\0z#2c";

	send("?");
	type_bytes(query, sizeof(query) - 1);
	assert_string_equal(said(), "1");
	type_bytes(write, sizeof(write) - 1);
	assert_string_equal(said(), "OK");
	expect("m1100,2", "007a");
	expect("X1100,1:zz", "E16");
}

static void test_registers_and_memory(void **)
{
	send("?");
	send("g");
	assert_int_equal(strncmp(said(), "8877665544332211", 16), 0);
	assert_int_equal(strlen(said()), 2 * (17 * 8 + 4 + 24 + 80 + 32 + 16 + 48 + 8));
	expect("p10", "0010000000000000");
	expect("P10=0020000000000000", "OK");
	assert_int_equal(vcpu->regs.rip, 0x2000);
	expect("P10=0000000000000001", "E16"); /* not canonical: an entry would fail */
	expect("P11=ffffffff", "OK");
	assert_int_equal(vcpu->regs.rflags & ~0x257fd7ull, 0);
	expect("P12=00000000", "E01");
	expect("p18", "xxxxxxxxxxxxxxxxxxxx");
	expect("M1100,2:a55a", "OK");
	expect("m1100,2", "a55a");
	expect("X1100,2:}\003z", "OK");
	expect("m1100,2", "237a");
	expect("m1ffffe,8", "0000");
	expect("m200000,8", "E0e");
	expect("M1fffff,2:0000", "E0e");
}

static void test_soft(void **)
{
	u8 own = 0x77;

	code("\x90\xcc\xcd\x80", 4);
	send("?");
	expect("Z0,1000,1", "OK");
	assert_int_equal(byte_at(CODE), 0xcc);
	expect("m1000,2", "90cc");
	expect("M1000,1:91", "OK");
	assert_int_equal(byte_at(CODE), 0xcc);
	expect("m1000,1", "91");
	send("vCont;c");
	assert_true(turn(vcpu));
	assert_int_equal(exceptions, BIT(VEC_BP));
	assert_true(exception(VEC_BP, 0));
	assert_string_equal(said(), "T05thread:1;swbreak:;");
	assert_true(vm->paused && vcpu->event.type == HVM_EVENT_NONE && vcpu->regs.rip == CODE);
	send("vCont;c");
	assert_true(turn(vcpu));
	vcpu->regs.rip = CODE + 1; /* the guest's own INT3 */
	assert_true(exception(VEC_BP, 0));
	assert_true(vcpu->event.type == HVM_EVENT_EXCEPTION && vcpu->event.vector == VEC_BP &&
		    vcpu->regs.rip == CODE + 2);
	vcpu->event.type = HVM_EVENT_NONE;
	assert_true(exception(VEC_BP, 0)); /* and INT n, as TCG reports it */
	assert_true(vcpu->event.vector == 0x80 && vcpu->regs.rip == CODE + 4 && !vm->paused);
	type("\003");
	expect("z0,1000,1", "OK");
	assert_int_equal(byte_at(CODE), 0x91);
	expect("Z0,1000,1", "OK");
	guest_write(vm, gpa(CODE), &own, 1); /* the guest has patched its code */
	expect("z0,1000,1", "OK");
	assert_int_equal(byte_at(CODE), own);
	expect("Z0,200000,1", "E0e");
	for (unsigned i = 0; i < 32; i++) {
		char text[32];

		snprintf(text, sizeof(text), "Z0,%x,1", CODE + i);
		expect(text, "OK");
	}
	expect("Z0,1800,1", "E1c");
}

/* Asks for a step, enters, and lets the instruction end: with the trap, or (emulated) without. */
static void step(bool emulated)
{
	send("vCont;s:1;c");
	assert_true(turn(vcpu));
	assert_true(vcpu->regs.rflags & RFLAGS_TF);
	assert_int_equal(exceptions, ~0u);
	out_length = out[0] = 0;
	if (emulated) {
		emulate_skip(vcpu, 0);
		assert_true(vcpu->debug.retired);
		debugger->retired(vcpu);
	} else {
		assert_true(exception(VEC_DB, BS));
	}
	assert_string_equal(said(), "T05thread:1;");
	assert_int_equal(exceptions, 0);
	assert_true(vm->paused && !dr_intercepted);
}

static void test_step(void **)
{
	u8 image = 0x03;

	send("?");
	code("\x90", 1);
	step(false);
	assert_int_equal(vcpu->regs.rflags, 0x202);
	assert_true(vcpu->event.type == HVM_EVENT_NONE && reg[HVM_DR6] == DR6_NONE);
	step(true);
	assert_int_equal(vcpu->regs.rflags, 0x202);
	code("\x9c", 1); /* PUSHF: the image is the guest's */
	guest_write(vm, gpa(STACK + 1), &image, 1);
	step(false);
	assert_int_equal(byte_at(STACK + 1), 0x02);
	code("\x66\x9d", 2); /* POPF loads TF: it stays */
	step(false);
	assert_int_equal(vcpu->regs.rflags, 0x302);
	/* The guest steps itself: its trap comes, too. */
	code("\x90", 1);
	step(false);
	assert_true(vcpu->event.type == HVM_EVENT_EXCEPTION && vcpu->event.vector == VEC_DB &&
		    reg[HVM_DR6] == (DR6_NONE | BS));
}

/* After what raises an exception the step ends where its handler begins. */
static void land(u8 vector)
{
	assert_true(vcpu->debug.step == STEP_LANDING && !(vcpu->regs.rflags & RFLAGS_TF) &&
		    !vm->paused);
	assert_true(vcpu->event.type == HVM_EVENT_EXCEPTION ? vcpu->event.vector == vector
							    : vector == 0x80);
	assert_int_equal(reg[HVM_DR0], HANDLER);
	assert_int_equal(reg[HVM_DR7], 0x402);
	assert_true(dr_intercepted && turn(vcpu));
	vcpu->event.type = HVM_EVENT_NONE;
	vcpu->regs.rip = HANDLER;
	assert_true(exception(VEC_DB, BIT(0)));
	assert_string_equal(said(), "T05thread:1;");
	assert_true(vm->paused && !dr_intercepted && reg[HVM_DR0] == 0x5555 &&
		    reg[HVM_DR7] == 0x400);
}

static void test_landing(void **)
{
	reg[HVM_DR0] = 0x5555;
	send("?");
	code("\x90", 1);
	send("vCont;s:1");
	assert_true(turn(vcpu));
	assert_true(exception(VEC_PF, 0xdead));
	assert_int_equal(reg[HVM_CR2], 0xdead);
	land(VEC_PF);
	code("\x0f\x32", 2); /* what the monitor raises */
	send("vCont;s:1");
	assert_true(turn(vcpu));
	vcpu_raise_error(vcpu, VEC_GP, 0);
	assert_true(turn(vcpu));
	land(VEC_GP);
	code("\xcd\x80", 2);
	send("vCont;s:1");
	assert_true(turn(vcpu));
	land(0x80);
	/* Stopped with an exception still to be delivered. */
	code("\x90", 1);
	vcpu_raise(vcpu, VEC_UD);
	send("vCont;s:1");
	assert_true(turn(vcpu));
	land(VEC_UD);
}

static void test_syscall(void **)
{
	reg[HVM_LSTAR] = HANDLER;
	reg[HVM_STAR] = 0x0023001000000000ull;
	reg[HVM_SFMASK] = RFLAGS_IF | RFLAGS_TF;
	send("?");
	code("\x0f\x05", 2);
	send("vCont;s:1");
	out_length = out[0] = 0;
	assert_false(turn(vcpu)); /* done without an entry */
	assert_string_equal(said(), "T05thread:1;");
	assert_true(vcpu->regs.rip == HANDLER && vcpu->regs.gpr[GPR_RCX] == CODE + 2);
	assert_true(vcpu->regs.gpr[GPR_R11] == 0x202 && vcpu->regs.rflags == 0x2);
	assert_true(segs[SEG_CS].selector == 0x10 && segs[SEG_CS].attr == 0xa09b &&
		    segs[SEG_SS].selector == 0x18);
	code("\x48\x0f\x07", 3);
	send("vCont;s:1");
	assert_true(turn(vcpu));
	assert_true(vcpu->regs.gpr[GPR_R11] & RFLAGS_TF);
	vcpu->regs.rflags = 0x302;
	assert_true(exception(VEC_DB, BS));
	assert_true(vcpu->regs.gpr[GPR_R11] == 0x202 && vcpu->regs.rflags == 0x202 && vm->paused);
}

static void test_hard(void **)
{
	reg[HVM_DR0] = 0x1111;
	reg[HVM_DR3] = 0x3333;
	reg[HVM_DR7] = 0x401; /* the guest's own breakpoint 0 */
	send("?");
	expect("Z1,2000,1", "OK");
	expect("Z2,1234,4", "OK");
	expect("Z3,1235,4", "E16");
	expect("Z2,1240,3", "E16");
	send("vCont;c");
	assert_true(turn(vcpu));
	assert_true(reg[HVM_DR0] == 0x1111 && reg[HVM_DR3] == 0x2000 && reg[HVM_DR2] == 0x1234 &&
		    dr_intercepted);
	assert_int_equal(reg[HVM_DR7], 0x400 | 1 | 2 << 4 | 2 << 6 | 0xd << 24);
	/* The guest reads and writes its own. */
	code("\x41\x0f\x21\xd8", 4); /* mov %db3, %r8 */
	debugger->exit_dr(vcpu);
	assert_true(vcpu->regs.gpr[GPR_R8] == 0x3333 && vcpu->regs.rip == CODE + 4);
	code("\x0f\x23\xdb", 3); /* mov %rbx, %db3 */
	vcpu->regs.gpr[GPR_RBX] = 0x4444;
	debugger->exit_dr(vcpu);
	assert_int_equal(reg[HVM_DR3], 0x2000);
	code("\x0f\x23\xf8", 3); /* mov %rax, %db7, with reserved bits: #GP */
	debugger->exit_dr(vcpu);
	assert_true(vcpu->event.vector == VEC_GP && vcpu->regs.rip == CODE);
	vcpu->event.type = HVM_EVENT_NONE;
	/* Another vCPU has changed the instruction meanwhile: it runs again, and is no #UD. */
	code("\x0f\xa2\x90", 3);
	debugger->exit_dr(vcpu);
	assert_true(vcpu->event.type == HVM_EVENT_NONE && vcpu->regs.rip == CODE && !vm->end);
	/* Its breakpoint is its own, ours is not. */
	assert_true(exception(VEC_DB, BIT(0)));
	assert_true(vcpu->event.vector == VEC_DB && !vm->paused &&
		    vcpu->debug.dr6 == (DR6_NONE | 1));
	vcpu->event.type = HVM_EVENT_NONE;
	assert_true(exception(VEC_DB, BIT(2) | BIT(1)));
	assert_string_equal(said(), "T05thread:1;watch:1234;");
	assert_true(vcpu->event.type == HVM_EVENT_NONE && vm->paused);
	send("vCont;c");
	assert_true(turn(vcpu));
	assert_true(exception(VEC_DB, BIT(3)));
	assert_string_equal(said(), "T05thread:1;hwbreak:;");
	expect("z1,2000,1", "OK");
	expect("z2,1234,4", "OK");
	send("vCont;c");
	assert_true(turn(vcpu));
	assert_true(!dr_intercepted && reg[HVM_DR3] == 0x4444 && reg[HVM_DR6] == (DR6_NONE | 1) &&
		    reg[HVM_DR7] == 0x401);
	fake_stage(STAGE_DEBUGGER)->destroy(vm);
	assert_non_null(strstr(out, "$W00#b7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_session, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nuls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registers_and_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_soft, setup, teardown),
		cmocka_unit_test_setup_teardown(test_step, setup, teardown),
		cmocka_unit_test_setup_teardown(test_landing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_syscall, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hard, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
