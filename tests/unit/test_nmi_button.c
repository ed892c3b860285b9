/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/nmi_button.c vmm/vm/devices.c vmm/dev/board/debug_clock.c @tests/unit/lapic.sources @tests/unit/fake_vm.sources */
/*
 * The operator's NMI: it comes to the vCPUs whose guest lets NMIs in at LINT1 (SDM vol. 3, 11.5.1),
 * to no other, and to a local APIC that is the CPU's own as well; and port 0x61 tells of no error
 * of the board (ICH9 data sheet, 13.7.1).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/lapic_guest.h"
#include "vmm/hvm.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"

#define LINT1 0x360
#define X2APIC_LINT1 0x836

static void intercept_msr(struct vcpu *, u32, bool, bool) { }

static const struct hvm_ops ops = { .intercept_msr = intercept_msr };
const struct hvm_ops *hvm = &ops;

int vm_pause(struct vm *)
{
	return 0;
}
int vm_resume(struct vm *)
{
	return 0;
}
int vcpu_call(struct vcpu *, void (*)(struct vcpu *))
{
	return -EBUSY;
}
void vcpu_serve_call(struct vcpu *) { }
void shootdown_flush(struct vcpu *) { }
bool vcpu_may_answer(struct vcpu *, u64)
{
	return false;
}
bool vcpu_nmi(struct host_work *)
{
	return false;
}
void direct_take_init(struct vcpu *) { }

/* Two vCPUs, on two CPUs. */
static int create(bool direct)
{
	fake_host_reset();
	fake_host.nr_cpus = fake_vm_vcpus = 2;
	fake_vm_direct = direct;
	fake_host.msrs[0].msr = MSR_X2APIC_FIRST + LAPIC_SVR;
	fake_host.nr_msrs = 1;
	vm = fake_vm_create(0);
	vcpu = vm->vcpus[0];
	return 0;
}

static int setup_two(void **)
{
	return create(false);
}

static int setup_direct(void **)
{
	return create(true);
}

static void expect(int result, bool first, bool second)
{
	unsigned kicks[2] = { fake_host.kicks[0], fake_host.kicks[1] };

	assert_int_equal(vm_press(vm, VM_BUTTON_NMI), result);
	assert_int_equal(vm->vcpus[0]->nmi_pending, first);
	assert_int_equal(vm->vcpus[1]->nmi_pending, second);
	assert_int_equal(fake_host.kicks[0] - kicks[0], first);
	assert_int_equal(fake_host.kicks[1] - kicks[1], second);
	vm->vcpus[0]->nmi_pending = vm->vcpus[1]->nmi_pending = false;
}

static void test_lint1(void **)
{
	expect(-ENXIO, false, false);
	wr(LINT1, 0x400);
	expect(-ENXIO, false, false); /* the APIC is off: the entry is masked */
	enable();
	expect(-ENXIO, false, false);
	wr(LINT1, 0x400);
	expect(0, true, false);
	wr(LINT1, 0x10400);
	expect(-ENXIO, false, false);
	wr(LINT1, 0x40); /* an interrupt as any other */
	expect(-ENXIO, false, false);
	assert_int_equal(pending(), -1);
	wr(LINT1, 0x700);
	expect(-ENXIO, false, false);
	vm->vcpus[1]->lapic->lvt[LAPIC_LVT(LAPIC_LVT_LINT1)] = 0x400;
	expect(0, false, true);
	wr(LINT1, 0x400);
	expect(0, true, true);
}

/* The entry is the hypervisor's there, too, and the NMI comes by its kick. */
static void test_direct(void **)
{
	assert_int_equal(guest_wrmsr(vm, 0x80f, 0x1ff), 0);
	assert_int_equal(guest_wrmsr(vm, X2APIC_LINT1, 0x400), 0);
	expect(0, true, false);
}

static void test_kept_by_a_crash(void **)
{
	enable();
	wr(LINT1, 0x400);
	vm->kept = VM_END_CRASH;
	expect(-EPERM, false, false);
}

static void test_port(void **)
{
	assert_int_equal(guest_in(vm, 0x61, 1), 0x3f);
	guest_out(vm, 0x61, 1, 0xc0);
	assert_int_equal(guest_in(vm, 0x61, 1), 0x3f);
	assert_int_equal(guest_in(vm, 0x61, 2), 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lint1, setup_two, teardown),
		cmocka_unit_test_setup_teardown(test_direct, setup_direct, teardown),
		cmocka_unit_test_setup_teardown(test_kept_by_a_crash, setup_two, teardown),
		cmocka_unit_test_setup_teardown(test_port, setup_two, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
