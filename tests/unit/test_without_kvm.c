/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/lapic.sources @tests/unit/fake_vm.sources */
/*
 * A compressed Linux that shows, when it starts, that it is no guest of KVM's: it measures by a
 * PIT's counter 2 (8254 data sheet, control word 0xb0), or leaves x2APIC mode (SDM vol. 3, figure
 * 11-27). The test plays that guest.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/lapic_guest.h"
#include "vmm/config/config.h"
#include "vmm/slots/slot.h"

#define BOTH (LINUX_NO_CLOCK | LINUX_NO_X2APIC)
#define PIT "vm0: the kernel looks for a PIT, and not for KVM's clock: it starts again"
#define LEFT "vm0: the kernel takes no x2APIC mode: it starts again with interrupts: emulated"
#define X2APIC (0xfee00000ull | APIC_BASE_EN | APIC_BASE_EXTD | APIC_BASE_BSP)
#define OFF (0xfee00000ull | APIC_BASE_BSP)

static int begin(void **state)
{
	setup(state);
	vm->is_linux = true;
	monitor_slots[0].without = 0;
	fake_vm_config.interrupts = VM_INTERRUPTS_AUTO;
	return 0;
}

static int finish(void **state)
{
	vm->direct = false;
	return teardown(state);
}

/* What the guest did has ended it so, with this line; what is known of it then. */
static void anew(const char *line, unsigned without)
{
	assert_int_equal(vm->end, VM_END_ANEW);
	assert_string_equal(fake_host.log, line);
	assert_int_equal(monitor_slots[0].without, without);
}

static void goes_on(void)
{
	assert_int_equal(vm->end, VM_RUNNING);
	assert_string_equal(fake_host.log, "");
}

static void test_pit(void **)
{
	/* Other ports, counters and widths mean nothing; there is no PIT to be read. */
	guest_out(vm, 0x61, 1, 1);
	guest_out(vm, 0x43, 1, 0x34);
	guest_out(vm, 0x42, 1, 0xb0);
	guest_out(vm, 0x43, 2, 0xb0);
	assert_int_equal(guest_in(vm, 0x43, 1), 0xff);
	goes_on();
	guest_out(vm, 0x43, 1, 0xb0);
	guest_out(vm, 0x43, 1, 0xb0);
	anew(PIT " with interrupts: emulated, told the rate of its TSC\n", BOTH);
}

/* Who asks for direct gets that, or a line that he cannot. */
static void test_pit_of_direct(void **)
{
	fake_vm_config.interrupts = VM_INTERRUPTS_DIRECT;
	guest_out(vm, 0x43, 1, 0xb0);
	anew(PIT ", told the rate of its TSC\n", LINUX_NO_CLOCK);
}

/* KVM's clock is on; interrupts come; another vCPU; no Linux: a PC's speaker is asked to beep. */
static void test_not_that(void **)
{
	vcpu->kvm_system_time = 0x1001;
	guest_out(vm, 0x43, 1, 0xb0);
	goes_on();
	vcpu->kvm_system_time = 0;
	enable();
	guest_out(vm, 0x43, 1, 0xb0);
	goes_on();
	/* It was on: this is a kernel that kexec has started. */
	wr(0xf0, 0xff);
	vm->intc->init(vcpu);
	guest_out(vm, 0x43, 1, 0xb0);
	goes_on();
	vcpu->lapic->was_on = false;
	vcpu->id = 1;
	guest_out(vm, 0x43, 1, 0xb0);
	vcpu->id = 0;
	goes_on();
	vm->is_linux = false;
	guest_out(vm, 0x43, 1, 0xb0);
	goes_on();
	vm->is_linux = true;
	guest_out(vm, 0x43, 1, 0xb0);
	assert_int_equal(vm->end, VM_END_ANEW);
}

/*
 * Linux from 5.8 on looks once for its CPU's rate; an older one, which does not know the word,
 * again.
 */
static void test_told(void **)
{
	vm->told_rate = true;
	guest_out(vm, 0x43, 1, 0xb0);
	goes_on();
	guest_out(vm, 0x43, 1, 0xb0);
	assert_int_equal(vm->end, VM_END_CRASH);
	assert_string_equal(
		fake_host.log,
		"vm0: the kernel does not know tsc_early_khz=, as Linux from 5.8 on does, "
		"and there is no PIT\n");
	assert_int_equal(monitor_slots[0].without, 0);
}

static void test_leaves_x2apic(void **)
{
	u64 base;

	go_x2apic();
	vm->direct = true;
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, X2APIC), 0);
	goes_on();
	/* One that has KVM's clock has been told not to, by words that it was built with. */
	vcpu->kvm_system_time = 0x1001;
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF), 0);
	anew(LEFT "\n", LINUX_NO_X2APIC);
	assert_int_equal(guest_rdmsr(vm, MSR_APIC_BASE, &base), 0);
	assert_int_equal(base, X2APIC);
}

static void test_has_neither(void **)
{
	go_x2apic();
	vm->direct = true;
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF), 0);
	anew(LEFT ", told the rate of its TSC\n", BOTH);
	/* Before all its vCPUs have stopped. */
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF), -EFAULT);
}

/* As ever: #GP and a line; and where the APIC is the hypervisor's the mode is its own. */
static void test_may_not(void **)
{
	go_x2apic();
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF), 0);
	goes_on();
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF | APIC_BASE_EN), 0);
	go_x2apic();
	assert_int_equal(guest_wrmsr(vm, 0x80f, 0x1ff), 0);
	vm->direct = true;
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF), -EFAULT);
	assert_int_equal(vm->end, VM_RUNNING);
	assert_non_null(strstr(fake_host.log,
			       "#GP, for the local APIC stays at 0xfee00000 in x2APIC mode\n"));
	vcpu->lapic->was_on = false;
	vm->is_linux = false;
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, OFF), -EFAULT);
	assert_int_equal(vm->end, VM_RUNNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pit, begin, finish),
		cmocka_unit_test_setup_teardown(test_not_that, begin, finish),
		cmocka_unit_test_setup_teardown(test_pit_of_direct, begin, finish),
		cmocka_unit_test_setup_teardown(test_told, begin, finish),
		cmocka_unit_test_setup_teardown(test_leaves_x2apic, begin, finish),
		cmocka_unit_test_setup_teardown(test_has_neither, begin, finish),
		cmocka_unit_test_setup_teardown(test_may_not, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
