/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The power management timer where the FADT says it is, by port and in memory, which no emulator
 * has; only if it counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"

static u32 counter, step;
static u16 port_read;
static u64 mapped;
static u32 memory;
static volatile u8 *memory_read;

static u32 fake_inl(u16 port)
{
	port_read = port;
	return counter += step;
}

static u32 fake_mmio_read32(const volatile void *p)
{
	memory_read = (volatile u8 *)p;
	return counter += step;
}

#define inl fake_inl
#define mmio_read32 fake_mmio_read32
#include "drivers/pmtimer.c"

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_int_equal(size, sizeof(u32));
	mapped = pa;
	return &memory;
}

static int reset(void **)
{
	counter = 0x12345678;
	step = 1;
	port = port_read = 0;
	mmio = memory_read = NULL;
	mapped = 0;
	return 0;
}

static int init(u8 space, u64 address, u32 flags)
{
	return pmtimer_init(&(struct fadt_info){
		.pm_tmr = { .space_id = space, .address = address }, .flags = flags });
}

static void test_port(void **)
{
	assert_int_equal(init(ACPI_SPACE_IO, 0x608, 0), 0);
	assert_true(pmtimer_present());
	counter = 0x87654320;
	assert_int_equal(pmtimer_read(), 0x654321);
	assert_int_equal(pmtimer_mask(), 0xffffff);
	assert_int_equal(port_read, 0x608);
	assert_int_equal(mapped, 0);
	assert_int_equal(init(ACPI_SPACE_IO, 0xfffc, ACPI_FADT_TMR_VAL_EXT), 0);
	counter = 0x87654320;
	assert_int_equal(pmtimer_read(), 0x87654321);
	assert_int_equal(pmtimer_mask(), 0xffffffff);
	assert_int_equal(port_read, 0xfffc);
}

static void test_memory(void **)
{
	assert_int_equal(init(ACPI_SPACE_MEMORY, 0xfed80808, 0), 0);
	assert_true(pmtimer_present());
	assert_int_equal(mapped, 0xfed80808);
	assert_ptr_equal(memory_read, &memory);
	assert_int_equal(port_read, 0);
}

static void test_none(void **)
{
	assert_int_equal(pmtimer_init(NULL), -ENODEV);
	assert_int_equal(init(ACPI_SPACE_IO, 0, 0), -ENODEV);
	assert_int_equal(init(ACPI_SPACE_IO, 0xfffd, 0), -ENODEV);
	assert_int_equal(init(ACPI_SPACE_PCI_CONFIG, 0x40, 0), -ENODEV);
	assert_int_equal(mapped, 0);
	assert_false(pmtimer_present());
	/* It stands still. */
	step = 0;
	assert_int_equal(init(ACPI_SPACE_IO, 0x608, 0), -ENODEV);
	assert_false(pmtimer_present());
	assert_int_equal(init(ACPI_SPACE_MEMORY, 0xfed80808, 0), -ENODEV);
	assert_false(pmtimer_present());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_port, reset),
		cmocka_unit_test_setup(test_memory, reset),
		cmocka_unit_test_setup(test_none, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
