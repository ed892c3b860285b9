/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: lib/rtc_time.c */
/*
 * The CMOS clock by its two ports (MC146818A): registers, updates between and during readings, a
 * clock that is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"

static u8 cmos[128], index_register;
static unsigned reads;
static unsigned tick_at; /* the read before which the minute changes; 0: none */
static bool always_ticks;

static void fake_outb(u16 port, u8 value)
{
	assert_int_equal(port, 0x70);
	assert_int_equal(value & 0x80, 0); /* NMIs stay on */
	index_register = value;
}

static u8 fake_inb(u16 port)
{
	assert_int_equal(port, 0x71);
	if (++reads == tick_at) {
		cmos[0] = 0;
		cmos[2]++;
	}
	if (always_ticks && index_register == 0)
		cmos[0] = (u8)((cmos[0] + 1) % 60);
	return cmos[index_register];
}

#define inb fake_inb
#define outb fake_outb
#include "drivers/rtc.c"

static unsigned lines;

void printk_error(const char *, ...)
{
	lines++;
}

/*
 * 2026-11-22 18:07:43, a Sunday; the alarm's registers lie between: each has a value of its own.
 * Binary, 24 hours.
 */
static int setup(void **)
{
	static const u8 now[] = { 43, 31, 7, 32, 18, 21, 1, 22, 11, 26, 0x26, 0x06 };

	memset(cmos, 0xee, sizeof(cmos));
	memcpy(cmos, now, sizeof(now));
	cmos[0x32] = 20;
	reads = tick_at = lines = 0;
	always_ticks = false;
	return 0;
}

#define NOW 1795370863ull /* date -u -d '2026-11-22 18:07:43' +%s */

static void test_registers(void **)
{
	u64 s = 0;

	assert_int_equal(rtc_read(0x32, &s), 0);
	assert_int_equal(s, NOW);
	/* Without a century register (FADT: 0) the year decides. */
	cmos[0x32] = 99;
	assert_int_equal(rtc_read(0, &s), 0);
	assert_int_equal(s, NOW);
	assert_int_equal(lines, 0);
}

/*
 * The minute changes before any one read: what comes out is one or the other, with nothing mixed.
 */
static void test_update_between(void **)
{
	for (unsigned at = 1; at < 24; at++) {
		u64 s = 0;

		setup(NULL);
		cmos[0] = 59;
		tick_at = at;
		assert_int_equal(rtc_read(0x32, &s), 0);
		assert_true(s == NOW + 16 || s == NOW + 17);
	}
}

/*
 * Bit 7 of register A: nothing is read during an update. One that never ends, and a clock that
 * never stands, are none.
 */
static void test_no_clock(void **)
{
	u64 s = 1;

	cmos[10] = 0xa6;
	assert_int_equal(rtc_read(0x32, &s), -ENODEV);
	cmos[10] = 0x26;
	always_ticks = true;
	assert_int_equal(rtc_read(0x32, &s), -ENODEV);
	always_ticks = false;
	cmos[8] = 13;
	assert_int_equal(rtc_read(0x32, &s), -ENODEV);
	assert_int_equal(lines, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_registers, setup),
		cmocka_unit_test_setup(test_update_between, setup),
		cmocka_unit_test_setup(test_no_clock, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
