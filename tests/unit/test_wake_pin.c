/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/wake_pin.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c vmm/vm/devices.c tests/unit/fake_vm.c */
/*
 * The pin that wakes a guest: registers by the Atom E3800's data sheet (329670, volume 3, GPIO
 * NCORE), the test plays Linux' pinctrl-baytrail. The pin is number 0, whose pad is the twentieth.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/vm/devices.h"

#define BASE 0xfec10000ull
#define CONF0(pad) (BASE + 16 * (pad))
#define VAL(pad) (BASE + 16 * (pad) + 8)
#define INT_STAT (BASE + 0x800)
#define TRIG_POS 0x02000000u

static struct vm *vm;
static unsigned edges;
static bool level;

void ioapic_line(struct vm *of, unsigned gsi, bool high)
{
	assert_ptr_equal(of, vm);
	assert_int_equal(gsi, 7);
	/* The guest that takes it finds what pends. */
	assert_int_equal(guest_load(vm, INT_STAT, 4), 1);
	edges += high && !level;
	level = high;
}

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(0);
	edges = 0;
	level = false;
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

/* Each register is its own, and what is none of them reads 0. */
static void test_registers(void **)
{
	for (u32 pad = 0; pad < 28; pad++) {
		guest_store(vm, CONF0(pad), 4, 0x100 + pad);
		guest_store(vm, VAL(pad), 4, 0x200 + pad);
		guest_store(vm, CONF0(pad) + 4, 4, 0x300);
	}
	for (u32 pad = 0; pad < 28; pad++) {
		assert_int_equal(guest_load(vm, CONF0(pad), 4), 0x100 + pad);
		assert_int_equal(guest_load(vm, VAL(pad), 4), 0x200 + pad);
		assert_int_equal(guest_load(vm, CONF0(pad) + 4, 4), 0);
	}
	guest_store(vm, CONF0(28), 4, ~0u);
	assert_int_equal(guest_load(vm, CONF0(28), 4), 0);
	assert_int_equal(guest_load(vm, BASE + 0xffc, 4), 0);
}

static void press(void)
{
	assert_int_equal(vm_press(vm, VM_BUTTON_POWER), 0);
}

/*
 * Nothing comes that is not wanted: not before the pin is armed, not by another's pad, not behind
 * its mask.
 */
static void test_pulse(void **)
{
	guest_store(vm, INT_STAT, 4, ~0u);
	assert_int_equal(guest_load(vm, INT_STAT, 4), 0);
	press();
	guest_store(vm, CONF0(0), 4, TRIG_POS);
	guest_store(vm, CONF0(19), 4, ~TRIG_POS);
	press();
	assert_int_equal(edges, 0);
	assert_int_equal(guest_load(vm, INT_STAT, 4), 0);
	guest_store(vm, CONF0(19), 4, TRIG_POS);
	for (unsigned n = 1; n <= 3; n++) {
		press();
		assert_true(edges == n && !level);
		assert_int_equal(guest_load(vm, INT_STAT, 4), 1);
		guest_store(vm, INT_STAT, 4, ~1u); /* other pins' */
		assert_int_equal(guest_load(vm, INT_STAT, 4), 1);
		guest_store(vm, INT_STAT, 4, 1);
		assert_int_equal(guest_load(vm, INT_STAT, 4), 0);
	}
	guest_store(vm, CONF0(19), 4, 0);
	press();
	assert_int_equal(vm_press(vm, VM_BUTTON_NMI), -ENOSYS);
	assert_int_equal(edges, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pulse, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
