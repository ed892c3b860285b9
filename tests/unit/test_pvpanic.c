/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/pvpanic.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/* The panic port as QEMU's docs/specs/pvpanic has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"

#define LINE "vm0: its kernel has panicked, and starts its crash kernel\n"

static struct vm *vm;

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(0);
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static void test_panicked(void **)
{
	assert_int_equal(guest_in(vm, 0x505, 1), 3);
	guest_out(vm, 0x505, 1, 0);
	guest_out(vm, 0x505, 1, 4);
	guest_out(vm, 0x505, 2, 1);
	assert_int_equal(vm->end, VM_RUNNING);
	guest_out(vm, 0x505, 1, 1);
	assert_int_equal(vm->end, VM_END_PANICKED);
	assert_string_equal(fake_host.log, "");
}

/* A guest that dumps itself goes on, with one line for each of its starts. */
static void test_crash_kernel(void **)
{
	for (unsigned i = 0; i < 3; i++)
		guest_out(vm, 0x505, 1, 2);
	assert_int_equal(vm->end, VM_RUNNING);
	assert_string_equal(fake_host.log, LINE);
	fake_vm_destroy(vm);
	vm = fake_vm_create(0);
	guest_out(vm, 0x505, 1, 2);
	assert_string_equal(fake_host.log, LINE LINE);
	/* Whose crash kernel panics, too. */
	guest_out(vm, 0x505, 1, 1);
	assert_int_equal(vm->end, VM_END_PANICKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_panicked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crash_kernel, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
