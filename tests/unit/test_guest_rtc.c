/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/rtc.c lib/rtc_time.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/*
 * The guest's CMOS clock by its two ports, as the MC146818A's data sheet has it; the C library
 * knows the dates.
 *
 * All encodings of 500 years of dates, by the C library's calendar; UIP, SET and the divider, to
 * the tick.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

extern const struct vdev *const __start_vdevs[];

#define NS 1000000000ull
#define SECOND 2000000000ull /* TSC of the fake host */
#define US (SECOND / 1000000)
#define H24 0x02
#define BINARY 0x04
#define SET 0x80
#define START 1795370863ull /* date -u -d '2026-11-22 18:07:43' +%s */

static struct vm *vm;

static int setup(void **)
{
	fake_host_reset();
	fake_host.wall_ns = START * NS;
	vm = fake_vm_create(0);
	return 0;
}

static void write_time(time_t when);

/* What was set stays: it is set right for the next test. */
static int teardown(void **)
{
	fake_host.wall_ns = START * NS;
	fake_host.tsc = 0;
	write_time((time_t)START);
	fake_vm_destroy(vm);
	return 0;
}

static u8 get(u8 reg)
{
	guest_out(vm, 0x70, 1, reg);
	return (u8)guest_in(vm, 0x71, 1);
}

static void put(u8 reg, u8 value)
{
	guest_out(vm, 0x70, 1, reg);
	guest_out(vm, 0x71, 1, value);
}

static int from(u8 raw, u8 mode)
{
	return mode & BINARY ? raw : (raw >> 4) * 10 + (raw & 15);
}

static u8 to(int value, u8 mode)
{
	return (u8)(mode & BINARY ? value : value / 10 << 4 | value % 10);
}

/*
 * Seconds since 1970 by the registers, whatever register B says of them; each must be in its range.
 */
static long long shown(void)
{
	u8 mode = get(11), hour = get(4);
	struct tm t = {
		.tm_sec = from(get(0), mode),
		.tm_min = from(get(2), mode),
		.tm_mday = from(get(7), mode),
		.tm_mon = from(get(8), mode) - 1,
		.tm_year = from(get(0x32), mode) * 100 + from(get(9), mode) - 1900,
	};
	long long seconds;

	if (mode & H24) {
		t.tm_hour = from(hour, mode);
	} else {
		int h = from(hour & 0x7f, mode);

		assert_in_range(h, 1, 12);
		t.tm_hour = h % 12 + (hour & 0x80 ? 12 : 0);
	}
	assert_in_range(t.tm_sec, 0, 59);
	assert_in_range(t.tm_min, 0, 59);
	assert_in_range(t.tm_hour, 0, 23);
	assert_in_range(t.tm_mon, 0, 11);
	assert_in_range(t.tm_mday, 1, 31);
	seconds = timegm(&t);
	assert_int_equal(from(get(6), mode), t.tm_wday + 1);
	return seconds;
}

/* The way of the data sheet: SET, the registers, SET off. */
static void fill(time_t when)
{
	u8 mode = get(11);
	struct tm t;
	int hour;

	gmtime_r(&when, &t);
	hour = mode & H24 ? t.tm_hour : (t.tm_hour + 11) % 12 + 1;
	put(0, to(t.tm_sec, mode));
	put(2, to(t.tm_min, mode));
	put(4, to(hour, mode) | (!(mode & H24) && t.tm_hour >= 12 ? 0x80 : 0));
	put(6, to(t.tm_wday + 1, mode));
	put(7, to(t.tm_mday, mode));
	put(8, to(t.tm_mon + 1, mode));
	put(9, to(t.tm_year % 100, mode));
	put(0x32, to(19 + t.tm_year / 100, mode));
}

static void write_time(time_t when)
{
	u8 mode = get(11);

	put(11, mode | SET);
	fill(when);
	put(11, mode);
}

static void test_power_on(void **)
{
	assert_int_equal(get(6), 1);
	assert_int_equal(get(10), 0x26);
	assert_int_equal(get(11), H24);
	assert_int_equal(get(12), 0);
	assert_int_equal(get(13), 0x80);
	assert_int_equal(guest_in(vm, 0x70, 1), 0xff);
	assert_int_equal(shown(), START);
	assert_int_equal(get(0), 0x43);
	assert_int_equal(get(4), 0x18);
	assert_int_equal(get(0x32), 0x20);
	fake_host.tsc = 17 * SECOND;
	assert_int_equal(shown(), START + 17);
	/* Bit 7 of the index is the NMI mask, no part of it. */
	assert_int_equal(get(0x80 | 2), 0x08);
}

/* All encodings, over all years that they hold, and each hour. */
static void test_dates(void **)
{
	for (u8 mode = 0; mode < 8; mode += 2) {
		put(11, mode);
		for (long long t = 0; t < 18000000000; t += 86400 * 61 + 3607) {
			fake_host.wall_ns = (u64)t * NS;
			assert_int_equal(shown(), t);
			write_time((time_t)(t / 7 * 5));
			assert_int_equal(shown(), t / 7 * 5);
			write_time((time_t)t);
			assert_int_equal(shown(), t);
		}
	}
}

/*
 * Before the second changes register A says so, for 244 us; what is read when it does not is of one
 * second.
 */
static void test_update(void **)
{
	fake_host.tsc = SECOND - 245 * US;
	assert_int_equal(get(10), 0x26);
	fake_host.tsc = SECOND - 244 * US;
	assert_int_equal(get(10), 0xa6);
	assert_int_equal(shown(), START);
	fake_host.tsc = SECOND - 1;
	assert_int_equal(get(10), 0xa6);
	fake_host.tsc = SECOND;
	assert_int_equal(get(10), 0x26);
	assert_int_equal(shown(), START + 1);
	/* No update while the guest sets it. */
	put(11, H24 | SET);
	fake_host.tsc = 2 * SECOND - 1;
	assert_int_equal(get(10), 0x26);
	put(10, 0xa6); /* the flag cannot be written */
	assert_int_equal(get(10), 0x26);
}

/* SET stops the registers, not the divider: the next second comes when it would have come. */
static void test_set(void **)
{
	fake_host.tsc = 300000 * US;
	put(11, H24 | SET);
	fake_host.tsc = 700000 * US;
	assert_int_equal(shown(), START);
	fill(1000000000);
	assert_int_equal(shown(), 1000000000);
	put(11, H24);
	assert_int_equal(shown(), 1000000000);
	fake_host.tsc = SECOND - 1;
	assert_int_equal(shown(), 1000000000);
	fake_host.tsc = SECOND;
	assert_int_equal(shown(), 1000000001);
}

/*
 * As Linux sets it (drivers/rtc/rtc-mc146818-lib.c): the divider is held, too, and its first update
 * is half a second after.
 */
static void test_divider(void **)
{
	fake_host.tsc = 900000 * US;
	put(11, H24 | SET);
	put(10, 0x76);
	fill(1000000000);
	fake_host.tsc = 5 * SECOND;
	put(11, H24);
	fake_host.tsc = 6 * SECOND;
	assert_int_equal(shown(), 1000000000);
	assert_int_equal(get(10), 0x76);
	put(10, 0x26);
	fake_host.tsc += SECOND / 2 - 1;
	assert_int_equal(get(10), 0xa6);
	assert_int_equal(shown(), 1000000000);
	fake_host.tsc += 1;
	assert_int_equal(shown(), 1000000001);
}

/* The divider alone stops the registers at the time that it was, and sets them going again. */
static void test_divider_alone(void **)
{
	fake_host.tsc = 10 * SECOND;
	put(10, 0x76);
	assert_int_equal(shown(), START + 10);
	fake_host.tsc = 20 * SECOND;
	assert_int_equal(shown(), START + 10);
	put(10, 0x26);
	fake_host.tsc += SECOND / 2;
	assert_int_equal(shown(), START + 11);
}

/* Of one register at a time, with the clock running. */
static void test_single(void **)
{
	put(2, 0x59);
	assert_int_equal(shown(), START + 52 * 60);
	put(9, 0x31);
	assert_int_equal(get(9), 0x31);
	put(7, 0x31); /* no 31 November: as if it had not been written */
	assert_int_equal(get(7), 0x22);
	put(11, H24 | SET);
	put(0x32, 0x29);
	put(9, 0x99); /* beyond what 64 bits of ns hold */
	put(11, H24);
	assert_int_equal(get(9), 0x31);
	/* All of what was set, or nothing. */
	put(11, H24 | SET);
	put(2, 0x11);
	put(7, 0x31);
	put(11, H24);
	assert_int_equal(get(2), 0x59);
}

/*
 * The formats change under a running clock, and are taken for those of the registers under one that
 * stands.
 */
static void test_formats(void **)
{
	put(11, BINARY);
	assert_int_equal(get(4), 0x86);
	assert_int_equal(get(0), 43);
	assert_int_equal(shown(), START);
	put(11, H24 | SET);
	put(4, 0x12);
	put(11, BINARY | H24); /* 0x12 is 18 now, 0x07 still 7, 0x43 no second */
	assert_int_equal(shown(), START);
	put(11, BINARY | H24 | SET);
	put(4, 0x12);
	put(11, BINARY | H24);
	assert_int_equal(get(4), 18);
}

/* What has nothing behind it stays 0; the rest is memory. */
static void test_memory(void **)
{
	put(11, 0x7f);
	assert_int_equal(get(11), BINARY | H24);
	put(11, H24);
	put(12, 0xff);
	put(13, 0);
	assert_int_equal(get(12), 0);
	assert_int_equal(get(13), 0x80);
	for (u8 i = 1; i < 6; i += 2)
		put(i, (u8)(0xc0 | i));
	for (u8 i = 14; i < 128; i++)
		if (i != 0x32)
			put(i, i ^ 0xff);
	for (u8 i = 14; i < 128; i++)
		assert_true(i == 0x32 || (get(i) ^ i) == 0xff);
	assert_true(get(1) == 0xc1 && get(3) == 0xc3 && get(5) == 0xc5);
	assert_int_equal(shown(), START);
}

/* What a guest sets stays over its restarts, and is nobody else's. */
static void test_own(void **)
{
	struct vm_parts *parts = calloc(1, sizeof(*parts));
	void *device[1] = { NULL };
	struct vm *first;

	write_time(1000000000);
	fake_vm_destroy(vm);
	vm = first = fake_vm_create(0);
	fake_host.tsc = 3 * SECOND;
	assert_int_equal(shown(), 1000000003);
	assert_non_null(parts);
	vm = &parts->vm;
	vm->id = 1;
	vm->device = device;
	vm->vcpus = first->vcpus;
	assert_int_equal(__start_vdevs[0]->create(vm, &vm->device[0]), 0);
	assert_int_equal(shown(), START + 3);
	write_time(1100000000);
	host_pages_free(vm->device[0], 1);
	free(parts);
	vm = first;
	assert_int_equal(shown(), 1000000003);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_power_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_update, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set, setup, teardown),
		cmocka_unit_test_setup_teardown(test_divider, setup, teardown),
		cmocka_unit_test_setup_teardown(test_divider_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_single, setup, teardown),
		cmocka_unit_test_setup_teardown(test_formats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
