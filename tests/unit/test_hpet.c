/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The HPET by its registers (IA-PC HPET 1.0a, 2.3.4 to 2.3.7): counters of 64 and of 32 bits, and
 * those that are not used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"

static u64 device[128]; /* its KiB */
static unsigned reads32;

/* Aligned, as the specification wants it. */
static u64 fake_mmio_read64(const volatile void *p)
{
	size_t at = (size_t)((const volatile u8 *)p - (u8 *)device);

	assert_true(at + 8 <= sizeof(device) && at % 8 == 0);
	return device[at / 8];
}

static void fake_mmio_write64(volatile void *p, u64 value)
{
	size_t at = (size_t)((volatile u8 *)p - (u8 *)device);

	assert_true(at + 8 <= sizeof(device) && at % 8 == 0);
	device[at / 8] = value;
}

static u32 fake_mmio_read32(const volatile void *p)
{
	reads32++;
	return (u32)fake_mmio_read64(p);
}

#define mmio_read32 fake_mmio_read32
#define mmio_read64 fake_mmio_read64
#define mmio_write64 fake_mmio_write64
#include "drivers/hpet.c"

static bool mappable;

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_int_equal(pa, 0xfed00000);
	assert_true(size >= 0xf8 && size <= sizeof(device));
	return mappable ? device : NULL;
}

void printk_error(const char *, ...) { }

static int setup(void **)
{
	memset(device, 0, sizeof(device));
	hpet_registers = NULL;
	mappable = true;
	reads32 = 0;
	return 0;
}

/*
 * The capabilities: period in femtoseconds, vendor, legacy replacement capable, 64 bits, timers,
 * revision.
 */
static int init(u32 period, u32 low)
{
	device[0] = (u64)period << 32 | low;
	return hpet_init(&(struct hpet_info){ .base = 0xfed00000 });
}

static void test_64_bits(void **)
{
	device[0x10 / 8] = 2; /* the firmware's legacy replacement */
	assert_int_equal(init(69841279, 0x8086a201), 0);
	assert_true(hpet_present());
	assert_int_equal(hpet_period_fs(), 69841279);
	assert_int_equal(hpet_mask(), ~0ull);
	assert_int_equal(device[0x10 / 8], 1);
	device[0xf0 / 8] = 0x123456789abcdef0ull;
	assert_int_equal(hpet_read(), 0x123456789abcdef0ull);
	assert_int_equal(reads32, 0);
}

static void test_32_bits(void **)
{
	assert_int_equal(init(100000000, 0x80868201), 0);
	assert_int_equal(hpet_mask(), 0xffffffff);
	device[0xf0 / 8] = 0x1122334455667788ull;
	assert_int_equal(hpet_read(), 0x55667788);
	assert_int_equal(reads32, 1);
}

static void test_none(void **)
{
	assert_int_equal(hpet_init(NULL), -ENODEV);
	assert_int_equal(init(0, 0x8086a201), -ENODEV);
	assert_int_equal(init(100000001, 0x8086a201), -ENODEV);
	assert_int_equal(init(0xffffffff, 0xffffffff), -ENODEV);
	assert_int_equal(init(999999, 0x8086a201), -ENODEV);
	mappable = false;
	assert_int_equal(init(69841279, 0x8086a201), -ENODEV);
	assert_false(hpet_present());
	assert_int_equal(device[0x10 / 8], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_64_bits, setup),
		cmocka_unit_test_setup(test_32_bits, setup),
		cmocka_unit_test_setup(test_none, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
