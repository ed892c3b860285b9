/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/exit/direct_messages.c tests/unit/fake_host.c */
/*
 * INIT and NMI that a guest has sent by an ICR of its own (ipi = direct): whose
 * they are, and that none outlives its VM. The backend is one that says what it
 * is told to, entry by entry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/vm.h"
#include "vmm/vm/power_on.h"
#include "vmm/vm/startup.h"

#define CPU 2 /* the vCPU's */

static const struct vmexit init_exit = { .reason = VMEXIT_INIT };
static struct vm vm;
static struct vcpu vcpu;
static unsigned inits, power_ons, entries, opened;
static bool nmi_window;
static const enum vmexit_reason *says; /* of each entry */
static bool kicked[8];                 /* before each */

void vcpu_init_ipi(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	inits++;
}

void vcpu_power_on(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	assert_int_equal(entries, 0);
	power_ons++;
}

static void window_opens(struct host_timer *)
{
	opened++;
}

static struct host_timer timer = { .fn = window_opens };

/*
 * An NMI that waits, and one that comes, is its CPU's way out of the guest: with nothing of the
 * guest's in the way.
 */
static void request_nmi_window(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	nmi_window = true;
}

static void run(struct vcpu *v, struct vmexit *exit)
{
	assert_ptr_equal(v, &vcpu);
	assert_int_equal(power_ons, 1);
	assert_int_equal(v->event.type, HVM_EVENT_NONE);
	assert_true(nmi_window);
	nmi_window = false;
	/*
	 * The word is what makes the backend say VMEXIT_KICKED, again and again; the window is
	 * there for what sent it.
	 */
	assert_int_equal(fake_host.kick_word[CPU], 0);
	assert_int_equal(opened, kicked[entries]);
	*exit = (struct vmexit){ .reason = says[entries++] };
	opened = 0;
	if (exit->reason == VMEXIT_KICKED) {
		fake_host.kick_word[CPU] = kicked[entries];
		host_timer_arm(&timer, 0);
	}
}

static const struct hvm_ops ops = { .run = run, .request_nmi_window = request_nmi_window };
const struct hvm_ops *hvm = &ops;

static int setup(void **)
{
	fake_host_reset();
	fake_host.nr_cpus = CPU + 1;
	fake_host.this_cpu = CPU;
	memset(&vm, 0, sizeof(vm));
	memset(&vcpu, 0, sizeof(vcpu));
	memset(kicked, 0, sizeof(kicked));
	vcpu.vm = &vm;
	vcpu.cpu = CPU;
	inits = power_ons = entries = opened = 0;
	nmi_window = false;
	return 0;
}

/*
 * An exit by INIT is the guest's where it could send one; the CPU's own code is never at RIP 0 but
 * behind a SIPI.
 */
static void test_init(void **)
{
	vcpu.regs.rip = 0x1000;
	exit_init(&vcpu, &init_exit);
	assert_int_equal(inits, 0);
	vm.icrs_used = true;
	exit_init(&vcpu, &init_exit);
	assert_int_equal(inits, 1);
	vcpu.regs.rip = 1;
	exit_init(&vcpu, &init_exit);
	assert_int_equal(inits, 2);
	/* Sent before the SIPI that it runs by. */
	vcpu.regs.rip = 0;
	exit_init(&vcpu, &init_exit);
	assert_int_equal(inits, 2);
}

/*
 * An NMI that nobody has announced: of the guest's, or of the machine's while it cannot have sent
 * one.
 */
static void test_nmi(void **)
{
	assert_false(vcpu_nmi(&vcpu.work));
	assert_false(vcpu.nmi_pending || vcpu.look);
	vm.icrs_used = true;
	assert_true(vcpu_nmi(&vcpu.work));
	assert_true(vcpu.nmi_pending && vcpu.look);
}

/* At the end: one entry as after power-on, and nothing injected by it, takes what is pending. */
static void test_last_entry(void **)
{
	static const enum vmexit_reason one[] = { VMEXIT_INIT }, none[] = { VMEXIT_NMI_WINDOW };

	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_EXCEPTION, .vector = VEC_GP };
	says = one;
	direct_take_init(&vcpu);
	assert_int_equal(entries, 1);
	setup(NULL);
	says = none;
	direct_take_init(&vcpu);
	assert_int_equal(entries, 1);
	/* It is over: nobody starts again. */
	assert_int_equal(inits, 0);
}

/* A kick keeps it from the guest: it is taken, with what it was for, until an entry was one. */
static void test_last_entry_kicked(void **)
{
	static const enum vmexit_reason thrice[] = { VMEXIT_KICKED, VMEXIT_KICKED, VMEXIT_KICKED,
						     VMEXIT_INIT };

	/* The third is one of those that somebody else has taken note of. */
	kicked[0] = kicked[1] = kicked[3] = true;
	host_cpu_kick(CPU);
	host_timer_arm(&timer, 0);
	says = thrice;
	direct_take_init(&vcpu);
	assert_int_equal(entries, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_init, setup),
		cmocka_unit_test_setup(test_nmi, setup),
		cmocka_unit_test_setup(test_last_entry, setup),
		cmocka_unit_test_setup(test_last_entry_kicked, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
