/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/legacy.c vmm/dev/board/acpi_pm.c vmm/memory/gpa_map.c vmm/memory/guest_mem.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/* The ports by which a guest ends: ACPI sleep and reset, keyboard controller, 0xcf9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/memory/guest_mem.h"

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

/* ACPICA: clears WAK_STS, reads and writes SLEEP_CONTROL with SLP_TYP and SLP_EN. */
static void test_s5(void **)
{
	guest_out(vm, 0x601, 1, 0x80);
	guest_out(vm, 0x600, 1, 5 << 2);
	guest_out(vm, 0x600, 1, 0x20 | 3 << 2);
	guest_out(vm, 0x600, 4, 0x20 | 5 << 2);
	assert_int_equal(guest_in(vm, 0x600, 1), 0);
	assert_int_equal(guest_in(vm, 0x601, 1), 0);
	assert_int_equal(vm->end, VM_RUNNING);
	guest_out(vm, 0x600, 1, 0x20 | 5 << 2);
	assert_int_equal(vm->end, VM_END_POWEROFF);
	/* One that was asked to has been stopped by who asked. */
	vm->end = VM_RUNNING;
	vm->asked = true;
	guest_out(vm, 0x600, 1, 0x20 | 5 << 2);
	assert_int_equal(vm->end, VM_END_STOPPED);
}

/* Of PM1_CNT only a word with SLP_EN and QEMU's type of S5 ends the guest. */
static void test_qemu_poweroff(void **)
{
	guest_out(vm, 0x604, 2, 0x0001);
	guest_out(vm, 0x604, 2, 0x2400);
	guest_out(vm, 0x604, 2, 0x1c00);
	guest_out(vm, 0x604, 1, 0x20);
	guest_out(vm, 0x605, 1, 0x20);
	assert_int_equal(vm->end, VM_RUNNING);
	guest_out(vm, 0x604, 2, 0x2000);
	assert_int_equal(vm->end, VM_END_POWEROFF);
}

static void test_reset_register(void **)
{
	guest_out(vm, 0x602, 1, 0);
	guest_out(vm, 0x602, 4, 6);
	guest_out(vm, 0x601, 1, 6);
	assert_int_equal(vm->end, VM_RUNNING);
	guest_out(vm, 0x602, 1, 6);
	assert_int_equal(vm->end, VM_END_RESET_ACPI);
}

/*
 * F000:FFF0 holds `mov dx, 0x602; mov al, 6; out dx, al; hlt; jmp -3`: the reset register by
 * another way.
 */
static void test_reset_vector(void **)
{
	static const u8 code[] = { 0xba, 0x02, 0x06, 0xb0, 0x06, 0xee, 0xf4, 0xeb, 0xfd };
	u8 found[sizeof(code)];

	fake_vm_destroy(vm);
	vm = fake_vm_create(MIB(2));
	assert_int_equal(guest_read(vm, gpa(0xffff0), found, sizeof(found)), 0);
	assert_memory_equal(found, code, sizeof(code));
}

static void test_keyboard_reset(void **)
{
	assert_int_equal(guest_in(vm, 0x64, 1) & 0x02, 0); /* ready for a command */
	assert_int_equal(guest_in(vm, 0x64, 1) & 0x01, 1); /* never empty: a prober gives up */
	guest_out(vm, 0x64, 1, 0xff); /* pulses nothing */
	guest_out(vm, 0x64, 1, 0xd1);
	guest_out(vm, 0x64, 1, 0x60);
	guest_out(vm, 0x60, 1, 0xfe);
	guest_out(vm, 0x64, 2, 0xfe);
	assert_int_equal(vm->end, VM_RUNNING);
	guest_out(vm, 0x64, 1, 0xfe);
	assert_int_equal(vm->end, VM_END_RESET_KBD);
}

static void test_cf9(void **)
{
	guest_out(vm, 0xcf9, 1, 0x02);
	guest_out(vm, 0xcf9, 2, 0x06);
	guest_out(vm, 0xcf8, 4, 0x80000600); /* a PCI configuration address is no reset */
	assert_int_equal(vm->end, VM_RUNNING);
	guest_out(vm, 0xcf9, 1, 0x06);
	assert_int_equal(vm->end, VM_END_RESET_CF9);
	guest_out(vm, 0x64, 1, 0xfe); /* the first reason stays */
	assert_int_equal(vm->end, VM_END_RESET_CF9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_s5, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qemu_poweroff, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_register, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_vector, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keyboard_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cf9, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
