/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/power_button.c */
/* A press of the guest's power button: one edge of its pin, then one of that which wakes; the VM knows first that it was asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "vmm/dev/lapic.h"
#include "vmm/dev/wake_pin.h"
#include "vmm/guest_platform.h"
#include "vmm/vm.h"
#include "vmm/vm_end.h"

static struct vm vm;
static unsigned changes, pulses;

void ioapic_line(struct vm *of, unsigned gsi, bool level)
{
	assert_ptr_equal(of, &vm);
	assert_int_equal(gsi, GUEST_BUTTON_GSI);
	assert_int_equal(level, changes++ % 2 == 0);
	assert_true(vm.asked);
}

void wake_pin_pulse(struct vm *of)
{
	assert_ptr_equal(of, &vm);
	pulses++;
	assert_int_equal(changes, 2 * pulses);
}

static void test_press(void **)
{
	for (unsigned n = 1; n <= 2; n++) {
		vm_press_button(&vm);
		assert_int_equal(changes, 2 * n);
		assert_int_equal(pulses, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_press) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
