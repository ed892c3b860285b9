/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/power_button.c vmm/vm/devices.c */
/*
 * A press of the guest's power button: one edge of its pin, of which the VM knows first that it was
 * asked; each device that has the button is told, and who has another one or none is not heard.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "vmm/dev/apic/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"

static int instance;
static void *instances[4] = { &instance, &instance, &instance, &instance };
static struct vm vm = { .device = instances };
static unsigned changes, presses;

void ioapic_line(struct vm *of, unsigned gsi, bool level)
{
	assert_ptr_equal(of, &vm);
	assert_int_equal(gsi, GUEST_BUTTON_GSI);
	assert_int_equal(level, changes++ % 2 == 0);
	assert_true(vm.asked);
}

void host_pages_free(void *, unsigned)
{
	fail();
}

/* Beside it: a pin that wakes, and what has no button at all. */
static int pin_press(struct vm *of, void *own, enum vm_button button)
{
	assert_true(of == &vm && own == &instance);
	if (button != VM_BUTTON_POWER)
		return -ENOSYS;
	presses++;
	return 0;
}

static const struct vdev_calls pin_calls = { .press = pin_press };
static const struct vdev pin_vdev = { .calls = &pin_calls };
VDEV(pin_vdev);
static const struct vdev none_vdev = {};
VDEV(none_vdev);

static void test_press(void **)
{
	for (unsigned n = 1; n <= 2; n++) {
		assert_int_equal(vm_press(&vm, VM_BUTTON_POWER), 0);
		assert_int_equal(changes, 2 * n);
		assert_int_equal(presses, n);
	}
}

static void test_no_such_button(void **)
{
	changes = presses = 0;
	vm.asked = false;
	assert_int_equal(vm_press(&vm, VM_BUTTON_NMI), -ENOSYS);
	assert_true(!changes && !presses && !vm.asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_press),
					    cmocka_unit_test(test_no_such_button) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
