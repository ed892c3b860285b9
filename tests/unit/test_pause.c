/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_pause.sources */
/*
 * A paused VM: when it goes on, what its TSC, its APIC timer and its paravirtual clock show then.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/stage.h"
#include "vmm/hvm.h"
#include "vmm/vm/intc.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/node/pause.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/dev/cpu/pvclock_scale.h"

#define SECOND 2000000000ull /* TSC ticks of the fake host */
#define TICK (SECOND / 1000000) /* of the APIC timer, 1 MHz */

/* Nobody asks anything of these vCPUs. */
void vcpu_serve_call(struct vcpu *) { }

/*
 * What it waits for comes as soon as the VM goes on: not before the paused vCPU has looked often.
 */
static unsigned pci_looks;

static bool pci_look(struct vcpu *v)
{
	if (!v->pci_waits)
		return false;
	if (++pci_looks == 100) {
		v->pci_waits = false;
		assert_int_equal(vm_resume(v->vm), 0);
	}
	return true;
}

static const struct vcpu_look waits = { .at = LOOK_PCI_WAIT,
					.look = pci_look,
					.while_paused = true };
VCPU_LOOK(waits);

/* What has nothing to do while it is paused. */
static bool virtual_look(struct vcpu *)
{
	fail();
	return true;
}

static const struct vcpu_look not_paused = { .at = LOOK_VIRTUAL, .look = virtual_look };
VCPU_LOOK(not_paused);

/* Asked behind `paused`. test_virtio_net.c has VMs with devices that others write for. */
static unsigned settled;

static void settle(struct vm *v)
{
	assert_true(vm_paused(v));
	settled++;
}

VM_ON_PAUSE(settle);

static s64 loaded_offset;
static unsigned loads;

static void set_tsc_offset(struct vcpu *, s64 offset)
{
	loaded_offset = offset;
	loads++;
}

static const struct hvm_ops recorder = { .set_tsc_offset = set_tsc_offset };
const struct hvm_ops *hvm = &recorder;
struct hvm_caps hvm_caps;

static struct vm *vm;
static struct vcpu *vcpu;
static struct vm_config config;
static struct host_timer waker;
static bool stood_still; /* when it was woken */

static void wake(struct host_timer *)
{
	stood_still = vm_stands_still(vm);
	assert_int_equal(vm_resume(vm), 0);
}

static int setup(void **)
{
	fake_host_reset();
	looks_sort();
	fake_host.tsc = 10 * SECOND;
	settled = 0;
	vm = fake_vm_create(MIB(2));
	vcpu = vm->vcpus[0];
	config = (struct vm_config){ .clock = VM_CLOCK_FOLLOW };
	vm->config = &config;
	vm->tsc_offset = vcpu->tsc_offset = -(s64)(10 * SECOND);
	waker.fn = wake;
	loads = 0;
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static u64 guest_tsc(void)
{
	return fake_host.tsc + (u64)vcpu->tsc_offset;
}

/* The vCPU stops for so many ticks. */
static void pause_for(u64 ticks)
{
	assert_int_equal(vm_pause(vm), 0);
	host_timer_arm(&waker, fake_host.tsc + ticks);
	vcpu_stay_paused(vcpu);
}

/* Paused in the middle of a function's reset: that goes on, for another VM may wait for it. */
static void test_pci_waits(void **)
{
	assert_int_equal(vm_pause(vm), 0);
	vcpu->pci_waits = true;
	vcpu->unfinished = 1;
	vcpu_stay_paused(vcpu);
	vcpu->unfinished = 0;
	assert_int_equal(pci_looks, 100);
	/* When it was told, and by the vCPU on its way. */
	assert_int_equal(settled, 2);
}

static void test_states(void **)
{
	assert_int_equal(vm_resume(vm), -EALREADY);
	assert_int_equal(vm_pause(vm), 0);
	assert_true(vm_paused(vm));
	assert_int_equal(vm_pause(vm), -EALREADY);
	assert_false(vm_stands_still(vm));
	assert_int_equal(vm_resume(vm), 0);
	assert_false(vm_paused(vm));
	/* One that a crash keeps is paused, whatever is asked; stopped, its vCPU gets out. */
	vm->kept = VM_END_PANICKED;
	assert_true(vm_paused(vm) && vcpu_paused(vcpu));
	assert_int_equal(vm_resume(vm), -EPERM);
	assert_int_equal(vm_pause(vm), -EPERM);
	vm->end = VM_END_STOPPED;
	vcpu_stay_paused(vcpu);
	vm->end = vm->kept = VM_RUNNING;
	/* A VM that ends while it is paused: the vCPU gets out. */
	assert_int_equal(vm_pause(vm), 0);
	vm->end = VM_END_POWEROFF;
	vcpu_stay_paused(vcpu);
	assert_int_equal(vm->nr_paused, 0);
}

static void test_follow(void **)
{
	pause_for(30 * SECOND);
	assert_true(stood_still && !vm_stands_still(vm));
	assert_int_equal(fake_host.tsc, 40 * SECOND);
	assert_int_equal(guest_tsc(), 30 * SECOND);
	assert_int_equal(loads, 0);
}

static void test_freeze(void **)
{
	u64 before;

	config.clock = VM_CLOCK_FREEZE;
	fake_host.tsc += 5 * SECOND;
	before = guest_tsc();
	pause_for(30 * SECOND);
	assert_int_equal(guest_tsc(), before);
	assert_int_equal(loaded_offset, vm->tsc_offset);
	assert_int_equal(loads, 1);
	/* and again: the first pause is not counted twice */
	fake_host.tsc += 7 * SECOND;
	pause_for(3 * SECOND);
	assert_int_equal(guest_tsc(), before + 7 * SECOND);
}

/* Resumed before it stopped, or before the other vCPU did: the clock has not stood still. */
static void test_freeze_too_short(void **)
{
	static struct vcpu other;
	s64 offset = vm->tsc_offset;

	config.clock = VM_CLOCK_FREEZE;
	assert_int_equal(vm_pause(vm), 0);
	fake_host.tsc += SECOND;
	assert_int_equal(vm_resume(vm), 0);
	assert_int_equal(vm->tsc_offset, offset);
	other = *vcpu;
	vm->vcpus[1] = &other;
	vm->nr_vcpus = 2;
	pause_for(SECOND);
	assert_int_equal(vm->tsc_offset, offset);
	vm->nr_vcpus = 1;
}

/*
 * Paused again before any vCPU has left the first pause: one long pause but for the moment in
 * between.
 */
static void again(struct host_timer *timer)
{
	assert_int_equal(vm_resume(vm), 0);
	fake_host.tsc += 10;
	assert_int_equal(vm_pause(vm), 0);
	timer->fn = wake;
	host_timer_arm(timer, fake_host.tsc + SECOND);
}

static void test_freeze_twice_at_once(void **)
{
	u64 before = guest_tsc();

	config.clock = VM_CLOCK_FREEZE;
	waker.fn = again;
	pause_for(SECOND);
	assert_in_range(guest_tsc(), before, before + 10);
}

static void enable_apic(u32 lvt_timer)
{
	guest_store(vm, 0xfee000f0, 4, 0x1ff);
	guest_store(vm, 0xfee003e0, 4, 11); /* divide by 1 */
	guest_store(vm, 0xfee00320, 4, lvt_timer);
}

static int pending(void)
{
	return vm->intc->pending(vcpu);
}

static void test_timer(void **)
{
	/* follow: due in the middle of the pause, taken by then */
	enable_apic(0x40);
	guest_store(vm, 0xfee00380, 4, 1000);
	pause_for(2000 * TICK);
	assert_int_equal(pending(), 0x40);
	assert_null(fake_host.timers);
	vm->intc->accept(vcpu, 0x40);
	guest_store(vm, 0xfee000b0, 4, 0);
	/* freeze: what was left is left */
	config.clock = VM_CLOCK_FREEZE;
	guest_store(vm, 0xfee00380, 4, 1000);
	fake_host_advance(fake_host.tsc + 400 * TICK);
	pause_for(2000 * TICK);
	assert_int_equal(pending(), -1);
	assert_int_equal(guest_load(vm, 0xfee00390, 4), 600);
	fake_host_advance(fake_host.tsc + 600 * TICK - 1);
	assert_int_equal(pending(), -1);
	fake_host_advance(fake_host.tsc + 1);
	assert_int_equal(pending(), 0x40);
}

static void test_deadline(void **)
{
	config.clock = VM_CLOCK_FREEZE;
	enable_apic(0x40040);
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, SECOND), 0);
	pause_for(10 * SECOND);
	assert_int_equal(pending(), -1);
	fake_host_advance(fake_host.tsc + SECOND - 1);
	assert_int_equal(pending(), -1);
	fake_host_advance(fake_host.tsc + 1);
	assert_int_equal(pending(), 0x40);
	assert_int_equal(guest_tsc(), SECOND);
	/* one that never comes still does not */
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, ~0ull), 0);
	pause_for(10 * SECOND);
	assert_true(fake_host.timers->deadline > fake_host.tsc + (1ull << 62));
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, 0), 0);
}

static void test_pvclock_flag(void **)
{
	struct pvclock_time *t = guest_ptr(vm, gpa(0x1000), sizeof(*t));
	u32 version;
	u64 time;

	/* not enabled: nothing is written */
	pause_for(SECOND);
	assert_int_equal(t->version, 0);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1001), 0);
	version = t->version;
	time = t->system_time;
	assert_int_equal(t->flags, PVCLOCK_TSC_STABLE);
	pause_for(SECOND);
	assert_int_equal(t->flags, PVCLOCK_TSC_STABLE | PVCLOCK_GUEST_STOPPED);
	assert_int_equal(t->version, version + 2);
	assert_int_equal(t->system_time, time);
	/* the guest has noted it */
	t->flags &= (u8)~PVCLOCK_GUEST_STOPPED;
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1001), 0);
	assert_int_equal(t->flags, PVCLOCK_TSC_STABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pci_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_follow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_freeze, setup, teardown),
		cmocka_unit_test_setup_teardown(test_freeze_too_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_freeze_twice_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pvclock_flag, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
