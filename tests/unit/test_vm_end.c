/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/vm/vm_end.c */
/*
 * How a VM ends: the first reason, all vCPUs told; and a crash that keeps it in place of that
 * (on_crash = dump).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "vmm/config/config.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

static struct vcpu vcpu[3];
static struct vcpu *vcpus[] = { &vcpu[0], &vcpu[1], &vcpu[2] };
static struct vm vm;
static unsigned kicks[3], lines;
static struct vm_config config;

void vcpu_kick(struct vcpu *v)
{
	kicks[v - vcpu]++;
}

void host_log(const char *, ...)
{
	lines++;
}

static int setup(void **)
{
	vm = (struct vm){ .nr_vcpus = 3, .vcpus = vcpus, .config = &config };
	config.then[ENDING_CRASH] = THEN_DUMP;
	lines = 0;
	for (unsigned i = 0; i < 3; i++) {
		kicks[i] = 0;
		vcpu[i].died = false;
	}
	return 0;
}

static void all_kicked(unsigned times)
{
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(kicks[i], times);
}

static void test_first(void **)
{
	assert_true(vm_end(&vm, VM_END_POWEROFF));
	all_kicked(1);
	assert_false(vm_end(&vm, VM_END_CRASH));
	assert_int_equal(vm.end, VM_END_POWEROFF);
	assert_int_equal(vm.kept, VM_RUNNING);
	/* Once more: one may have been on its way in. */
	all_kicked(2);
}

static void test_exit(void **)
{
	vm_exit(&vm, 0);
	vm_exit(&vm, 7);
	assert_int_equal(vm.end, VM_END_EXIT);
	assert_int_equal(vm.exit_status, BIT(32));
	all_kicked(2);
}

static void test_kept(void **)
{
	assert_true(vm_end(&vm, VM_END_PANICKED));
	assert_false(vm_end(&vm, VM_END_PANICKED));
	assert_int_equal(lines, 1);
	assert_int_equal(vm.kept, VM_END_PANICKED);
	assert_int_equal(vm.end, VM_RUNNING);
	all_kicked(2);
	/* Only the operator ends it. */
	assert_true(vm_end(&vm, VM_END_STOPPED));
	assert_int_equal(vm.kept, VM_END_PANICKED);
	assert_int_equal(vm.end, VM_END_STOPPED);
	all_kicked(3);
}

/* What vm_end() comes to in a VM as it is. */
static bool kept(enum vm_end why)
{
	struct vm before = vm;
	bool is;

	assert_true(vm_end(&vm, why) || before.kept || before.end);
	is = vm.end == before.end && (vm.kept != before.kept || before.kept);
	vm = before;
	return is;
}

/* Which ends leave the VM as it is. */
static void test_keeps(void **)
{
	for (enum vm_end why = VM_END_POWEROFF; why <= VM_END_CRASH; why++)
		assert_int_equal(kept(why), why == VM_END_TRIPLE_FAULT || why == VM_END_PANICKED ||
						    why == VM_END_WATCHDOG);
	assert_false(kept(VM_END_CRASH));
	vcpu[1].died = true;
	assert_true(kept(VM_END_CRASH));
	/* A CPU that does not answer since is an end. */
	vm.kept = VM_END_CRASH;
	assert_true(kept(VM_END_WATCHDOG));
	assert_false(kept(VM_END_CRASH));
	vm.kept = VM_RUNNING;
	vm.end = VM_END_STOPPED;
	assert_false(vm_end(&vm, VM_END_PANICKED));
	assert_int_equal(vm.kept, VM_RUNNING);
	vm.end = VM_RUNNING;
	config.then[ENDING_CRASH] = THEN_RESTART;
	assert_false(kept(VM_END_PANICKED));
}

/* A name for each, and none twice. */
static void test_names(void **)
{
	for (enum vm_end a = VM_RUNNING; a <= VM_END_CRASH; a++)
		for (enum vm_end b = VM_RUNNING; b < a; b++)
			assert_string_not_equal(vm_end_name(a), vm_end_name(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_first, setup),
		cmocka_unit_test_setup(test_exit, setup),
		cmocka_unit_test_setup(test_kept, setup),
		cmocka_unit_test_setup(test_keeps, setup),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
