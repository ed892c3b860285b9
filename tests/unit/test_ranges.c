/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/gpa_map.c tests/unit/fake_host.c tests/unit/fake_vm.c */
/*
 * MMIO that devices register: apart from each other, in as many pages as a VM with 64 PCI functions
 * needs, and given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_stage.h"
#include "tests/unit/fake_vm.h"
#include "vmm/vcpu.h"
#include "vmm/vm/ranges.c"

static struct vm_parts parts;
static u64 read_from; /* the range that answered, by its device */

static u64 answer(void *dev, struct vcpu *, u64 offset, unsigned)
{
	read_from = (u64)(uintptr_t)dev;
	return offset;
}

static const struct mmio_ops ops = { .sizes = 4, .read = answer };

static int add(unsigned i)
{
	return vm_register_mmio(&parts.vm, gpa(GIB(1) + i * 0x1000ull), 0x1000, &ops,
				(void *)(uintptr_t)(i + 1));
}

static bool answers(unsigned i)
{
	read_from = 0;
	return guest_load(&parts.vm, GIB(1) + i * 0x1000ull + 0x10, 4) == 0x10 &&
	       read_from == i + 1;
}

static int setup(void **)
{
	static struct vcpu vcpu, *by_id[] = { &vcpu };

	fake_host_reset();
	memset(&parts, 0, sizeof(parts));
	strcpy(parts.vm.name, "vm0");
	parts.vm.vcpus = by_id;
	parts.vm.nr_vcpus = 1;
	return 0;
}

static void test_few(void **)
{
	for (unsigned i = 0; i < VM_FEW_MMIO; i++)
		assert_int_equal(add(i), 0);
	assert_int_equal(fake_host.pages_in_use, 0);
	assert_true(answers(0) && answers(VM_FEW_MMIO - 1) && !answers(VM_FEW_MMIO));
	assert_int_equal(add(VM_FEW_MMIO - 1), -EEXIST);
	fake_stage(STAGE_RANGES)->destroy(&parts.vm);
}

static void test_many(void **)
{
	for (unsigned i = 0; i < VM_MAX_MMIO; i++)
		assert_int_equal(add(i), 0);
	for (unsigned i = 0; i < VM_MAX_MMIO; i++)
		assert_true(answers(i));
	assert_int_equal(add(0), -EEXIST);
	assert_int_equal(add(VM_MAX_MMIO), -ENOSPC);
	assert_non_null(strstr(fake_host.log, "vm0: MMIO range at "));
	vm_set_mmio(&parts.vm, (void *)7, GIB(2), 0x1000);
	assert_false(answers(6));
	assert_int_equal(fake_host.pages_in_use, MANY_PAGES);
	fake_stage(STAGE_RANGES)->destroy(&parts.vm);
	assert_int_equal(fake_host.pages_in_use, 0);
}

/* A VM that has registered nothing. */
static void test_none(void **)
{
	fake_stage(STAGE_RANGES)->destroy(&parts.vm);
	assert_int_equal(fake_host.pages_in_use, 0);
	assert_false(answers(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_few, setup),
		cmocka_unit_test_setup(test_many, setup),
		cmocka_unit_test_setup(test_none, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
