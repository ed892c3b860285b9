/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/lapic.c vmm/dev/lapic_regs.c vmm/dev/lapic_timer.c vmm/dev/lapic_ipi.c vmm/dev/ioapic.c vmm/gpa_map.c tests/unit/fake_host.c tests/unit/fake_vm.c */
/* The I/O APIC against its data sheet, in front of the software local APIC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"

static struct vm *vm;

static int setup(void **state)
{
	(void)state;
	fake_host_reset();
	vm = fake_vm_create(0);
	guest_store(vm, 0xfee000f0, 4, 0x1ff);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_vm_destroy(vm);
	return 0;
}

static u32 rd(u8 reg)
{
	guest_store(vm, 0xfec00000, 4, reg);
	return (u32)guest_load(vm, 0xfec00010, 4);
}

static void wr(u8 reg, u32 value)
{
	guest_store(vm, 0xfec00000, 4, reg);
	guest_store(vm, 0xfec00010, 4, value);
}

/* Takes the pending vector as a CPU does; -1: there is none. */
static int take(void)
{
	int vector = vm->intc->pending(vm->vcpus[0]);

	if (vector >= 0)
		vm->intc->accept(vm->vcpus[0], (u8)vector);
	return vector;
}

static void eoi(void)
{
	guest_store(vm, 0xfee000b0, 4, 0);
}

static void test_registers(void **state)
{
	(void)state;
	assert_int_equal(rd(1), 0x00170020);
	wr(0, 0xff123456);
	assert_int_equal(rd(0), 0x0f000000);
	for (u8 pin = 0; pin < 24; pin++)
		assert_int_equal(rd(0x10 + 2 * pin), 0x10000);
	/* Read-only and reserved bits. */
	wr(0x10, 0xffffffff);
	assert_int_equal(rd(0x10), 0x1afff);
	wr(0x11, 0xffffffff);
	assert_int_equal(rd(0x11), 0xff000000);
	/* No registers beyond the table, nor anything behind it in memory. */
	for (unsigned reg = 0x40; reg < 0x100; reg++) {
		wr((u8)reg, 0x12345678);
		assert_int_equal(rd((u8)reg), 0xffffffff);
	}
	for (unsigned reg = 3; reg < 0x10; reg++)
		assert_int_equal(rd((u8)reg), 0xffffffff);
	/* Only aligned 32-bit accesses. */
	guest_store(vm, 0xfec00000, 1, 1);
	assert_int_equal(guest_load(vm, 0xfec00000, 4), 0x0f);
	assert_int_equal(guest_load(vm, 0xfec00ffc, 4), 0);
	wr(0x10, 0x10000);
}

static void test_edge(void **state)
{
	(void)state;
	vm->intc->line(vm, 4, true); /* masked: lost, as in hardware */
	vm->intc->line(vm, 4, false);
	wr(0x18, 0x44);
	assert_int_equal(take(), -1);
	vm->intc->line(vm, 4, true);
	vm->intc->line(vm, 4, true); /* no second edge */
	assert_int_equal(take(), 0x44);
	assert_int_equal(take(), -1);
	/* A new edge while in service is kept for after the EOI. */
	vm->intc->line(vm, 4, false);
	vm->intc->line(vm, 4, true);
	assert_int_equal(take(), -1);
	eoi();
	assert_int_equal(take(), 0x44);
	eoi();
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x18), 0x44);
}

static void test_level(void **state)
{
	(void)state;
	vm->intc->line(vm, 10, true);
	wr(0x24, 0x18055);
	assert_int_equal(take(), -1);
	wr(0x24, 0x08055); /* unmasked with its input asserted */
	assert_int_equal(rd(0x24), 0x0c055);
	assert_int_equal(take(), 0x55);
	vm->intc->line(vm, 10, false);
	vm->intc->line(vm, 10, true);
	assert_int_equal(take(), -1); /* remote IRR holds it */
	eoi();
	assert_int_equal(take(), 0x55); /* still asserted */
	vm->intc->line(vm, 10, false);
	eoi();
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x24), 0x08055);
}

static void test_eoi_register(void **state)
{
	(void)state;
	wr(0x24, 0x08055);
	vm->intc->line(vm, 10, true);
	assert_int_equal(rd(0x24), 0x0c055);
	vm->intc->line(vm, 10, false);
	guest_store(vm, 0xfec00040, 4, 0x56);
	assert_int_equal(rd(0x24), 0x0c055);
	guest_store(vm, 0xfec00040, 4, 0x55);
	assert_int_equal(rd(0x24), 0x08055);
	/* The older way: mask and make it edge. */
	vm->intc->line(vm, 10, true);
	assert_int_equal(rd(0x24), 0x0c055);
	wr(0x24, 0x10055);
	assert_int_equal(rd(0x24), 0x10055);
}

static void test_destination_and_modes(void **state)
{
	(void)state;
	wr(0x19, 0x05000000); /* APIC ID 5: nobody */
	wr(0x18, 0x08044);
	vm->intc->line(vm, 4, true);
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x18), 0x08044); /* nobody took it: no remote IRR */
	vm->intc->line(vm, 4, false);
	wr(0x19, 0xff000000);
	vm->intc->line(vm, 4, true);
	assert_int_equal(take(), 0x44);
	vm->intc->line(vm, 4, false);
	eoi();
	wr(0x1a, 0x400); /* pin 5: NMI */
	vm->intc->line(vm, 5, true);
	assert_true(vm->vcpus[0]->nmi_pending);
	wr(0x1c, 0x700); /* pin 6: ExtINT, INIT, SMI lead nowhere */
	vm->intc->line(vm, 6, true);
	assert_int_equal(take(), -1);
}

static void test_no_such_gsi(void **state)
{
	(void)state;
	vm->intc->line(vm, 24, true);
	vm->intc->line(vm, ~0u, true);
	assert_int_equal(take(), -1);
}

/* 15-bit destinations of RTE and MSI, where the guest is told of them only. */
static void test_wide_ids(void **state)
{
	(void)state;
	vm->vcpus[0]->apic_id = 0x1234;
	for (unsigned wide = 0; wide < 2; wide++) {
		vm->wide_ids = wide;
		wr(0x11, 0x34000000 | 0x12 << 17);
		assert_int_equal(rd(0x11), 0x34000000 | (wide ? 0x12 << 17 : 0));
		wr(0x10, 0x31);
		vm->intc->line(vm, 0, true);
		vm->intc->line(vm, 0, false);
		assert_int_equal(take(), wide ? 0x31 : -1);
		vm->intc->msi(vm, 0xfee34000 | 0x12 << 5, 0x32);
		if (wide)
			eoi();
		assert_int_equal(take(), wide ? 0x32 : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_level, setup, teardown),
		cmocka_unit_test_setup_teardown(test_eoi_register, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destination_and_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_such_gsi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wide_ids, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
