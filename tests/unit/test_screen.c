/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/screen.c kernel/console/screen_text.c kernel/console/raster.c */
/*
 * When the screen is drawn, and by whom: whoever prints wakes an idle CPU once and never waits;
 * what a CPU leaves another draws; a screen that falls behind shows the end; pages of the hardware
 * check stay. The framebuffer is read back by the font.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/console/screen.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"
#include "tests/unit/fake_font.h"

#define COLUMNS 100
#define ROWS 20
#define ADDRESS 0xfd000000u
#define PITCH (COLUMNS * FONT_WIDTH * 4)
#define SIZE (PITCH * ROWS * FONT_HEIGHT)

static u8 ring[SERIAL_RING];
static u32 head;
static bool ring_locked;
static enum serial_mode mode = SERIAL_INTERRUPT;
static u8 pixels[SIZE];
static bool can_map = true;
static char last_line[256];
static unsigned wakes;
static u64 tsc;

static void (*before_lock)(void);

bool serial_lock(void)
{
	void (*fn)(void) = before_lock;

	before_lock = NULL;
	if (fn)
		fn();
	assert_false(ring_locked);
	ring_locked = true;
	return true;
}

void serial_unlock(bool locked)
{
	assert_true(locked && ring_locked);
	ring_locked = false;
}

enum serial_mode serial_mode(void)
{
	return mode;
}

const u8 *serial_ring(u32 *end)
{
	*end = head;
	return ring;
}

void *mmio_map_type(u64 pa, u64 size, bool write_combining)
{
	assert_int_equal(pa, ADDRESS);
	assert_int_equal(size, SIZE);
	assert_true(write_combining);
	return can_map ? pixels : NULL;
}

u64 host_tsc(void)
{
	return tsc += 1000000;
}

u64 host_tsc_khz(void)
{
	return 1000000;
}

/* As the console does: under the ring's lock. */
static void put(const char *text)
{
	for (; *text; text++)
		ring[head++ % SERIAL_RING] = (u8)*text;
	screen_output();
}

static void log_line(const char *fmt, va_list ap)
{
	vsnprintf(last_line, sizeof(last_line), fmt, ap);
	put(last_line);
	put("\r\n");
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(fmt, ap);
	va_end(ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(fmt, ap);
	va_end(ap);
}

static void wake(void)
{
	wakes++;
}

/* A character of the framebuffer, by the font. */
static char seen(unsigned column, unsigned row)
{
	for (unsigned c = 0; c < FONT_COUNT; c++) {
		bool same = true;

		for (unsigned y = 0; y < FONT_HEIGHT && same; y++)
			for (unsigned x = 0; x < FONT_WIDTH && same; x++) {
				u32 pixel;

				memcpy(&pixel,
				       pixels + (row * FONT_HEIGHT + y) * PITCH +
					       (column * FONT_WIDTH + x) * 4,
				       4);
				same = pixel == (screen_font[c][y] << x >> 7 & 1 ? 0xc0c0c0 : 0);
			}
		if (same)
			return (char)(c + FONT_FIRST);
	}
	return '#';
}

static void row_is(unsigned row, const char *text)
{
	char got[COLUMNS + 1], wanted[COLUMNS + 1];

	for (unsigned i = 0; i < COLUMNS; i++)
		got[i] = seen(i, row);
	got[COLUMNS] = 0;
	memset(wanted, ' ', COLUMNS);
	wanted[COLUMNS] = 0;
	memcpy(wanted, text, strlen(text));
	assert_string_equal(got, wanted);
}

static struct bootinfo bi = {
	.nr_ranges = 2,
	.range = { { 0x100000, 0x8000000, BOOT_MEMORY_USABLE },
		   { 0xf0000000, 0xffffffff, BOOT_MEMORY_RESERVED } },
	.framebuffer = { .type = BOOT_SCREEN_RGB,
			 .address = ADDRESS,
			 .pitch = PITCH,
			 .width = COLUMNS * FONT_WIDTH,
			 .height = ROWS * FONT_HEIGHT,
			 .bpp = 32,
			 .color = { { 16, 8 }, { 8, 8 }, { 0, 8 } } },
};

static unsigned given; /* rows that a CPU may draw */

static bool wanted(void)
{
	return !given || !given--;
}

static bool never(void)
{
	return false;
}

/* These run in order: there is one screen, and it goes through its life once. */
static void test_none(void **)
{
	static const struct cmdline off = { .screen = 0 },
				    as_is = { .screen = CMDLINE_SCREEN_DEFAULT };

	put("before\r\n");
	screen_init(&bi, &off);
	assert_string_equal(last_line, "screen: none: the command line wants none");
	bi.framebuffer.bpp = 8;
	screen_init(&bi, &as_is);
	assert_string_equal(last_line, "screen: none: a pixel has neither 16, 24 nor 32 bits");
	bi.framebuffer.bpp = 32;
	can_map = false;
	screen_init(&bi, &as_is);
	assert_string_equal(last_line, "screen: none: it cannot be mapped");
	can_map = true;
	/* Usable memory, or what the firmware keeps, is nobody's screen: not even its last byte. */
	bi.range[1] = (struct boot_range){ ADDRESS + SIZE - 1, ADDRESS + SIZE, BOOT_MEMORY_USABLE };
	screen_init(&bi, &as_is);
	assert_string_equal(last_line, "screen: none: its address is that of memory");
	bi.range[1] = (struct boot_range){ ADDRESS - 4096, ADDRESS + 1, BOOT_MEMORY_NVS };
	screen_init(&bi, &as_is);
	assert_string_equal(last_line, "screen: none: its address is that of memory");
	bi.range[0] = (struct boot_range){ ADDRESS - 4096, ADDRESS, BOOT_MEMORY_USABLE };
	bi.range[1] =
		(struct boot_range){ ADDRESS + SIZE, ADDRESS + SIZE + 4096, BOOT_MEMORY_USABLE };
	/* Nothing happens without one. */
	screen_show();
	screen_last_page();
	screen_by_idle_cpus(NULL);
	assert_false(screen_idle(never));
	screen_idle_ends();
	for (unsigned i = 0; i < SIZE; i++)
		assert_int_equal(pixels[i], 0);
}

static const struct cmdline check = { .check = 10, .screen = CMDLINE_SCREEN_DEFAULT };

static void init_without_line(void)
{
	memset(pixels, 0xaa, sizeof(pixels));
	mode = SERIAL_NONE;
	screen_init(&bi, &check);
}

/* With a serial line its reader needs no time. */
static void test_first(void **)
{
	u64 before = tsc;

	memset(pixels, 0xaa, sizeof(pixels));
	screen_init(&bi, &check);
	assert_string_equal(last_line,
			    "screen: 800x320 pixels of 32 bits at 0xfd000000: 100x20 characters");
	/* What was before it is there, too. */
	row_is(0, "before");
	row_is(1, "screen: none: the command line wants none");
	row_is(6, last_line);
	row_is(7, "");
	for (unsigned i = 0; i < 40; i++) {
		put("check\r\n");
		screen_show();
	}
	screen_last_page();
	assert_true(tsc == before);
}

/* The hardware check without one: each page of it stays; no line goes without having stayed. */
static void test_pages(void **)
{
	char text[256];
	u64 before;

	init_without_line();
	row_is(0, last_line);
	row_is(1, "");
	for (unsigned i = 0; i < 13; i++) {
		before = tsc;
		snprintf(text, sizeof(text), "line %u\r\n", i);
		put(text);
		screen_show();
		/* The screen must have room for the longest line. */
		assert_int_equal(tsc - before >= 20000000000, i == 12);
		assert_true(tsc - before < 20100000000);
	}
	for (unsigned i = 0; i < 100; i++) {
		before = tsc;
		put("more\r\n");
		screen_show();
		assert_int_equal(tsc - before >= 20000000000, i % 14 == 13);
	}
	before = tsc;
	screen_last_page();
	assert_true(tsc - before >= 20000000000);
}

/*
 * A line that has been found where firmware's tables say begins with the log's first; what was
 * shown before is gone.
 */
static void test_anew(void **)
{
	static const struct cmdline slow = { .check = 10, .screen = 7 };
	u64 before;

	/* A page that has stayed is counted from the new beginning. */
	screen_init(&bi, &slow);
	for (unsigned i = 0; i < ROWS; i++) {
		put("old\r\n");
		screen_show();
	}
	before = tsc;
	head = 0;
	screen_anew();
	put("new\r\n");
	screen_show();
	row_is(0, "new");
	assert_true(tsc == before);

	/* Where pages stay for want of a line only, they do not any more. */
	screen_init(&bi, &check);
	mode = SERIAL_INTERRUPT;
	head = 0;
	screen_anew();
	put("first of all\r\n");
	screen_show();
	row_is(0, "first of all");
	row_is(1, "");
	row_is(ROWS - 1, "");
	for (unsigned i = 0; i < 40; i++) {
		put("nobody waits any more\r\n");
		screen_show();
	}
	screen_last_page();
	assert_true(tsc == before);
}

/* From the end of the boot on nobody waits. */
static void test_idle(void **)
{
	u64 before = tsc;

	assert_false(screen_idle(never));
	put("end of the boot\r\n");
	assert_int_equal(wakes, 0);
	assert_false(screen_idle(never));
	screen_by_idle_cpus(wake);
	row_is(ROWS - 2, "end of the boot");
	for (unsigned i = 0; i < 60; i++) {
		put("\r\n");
		screen_show();
	}
	assert_true(tsc == before);
	assert_int_equal(wakes, 60);
	wakes = 0;
	assert_false(screen_idle(never));
	put("first");
	assert_int_equal(wakes, 1);
	put(" second");
	/* Nothing new: the line has sent something. */
	screen_output();
	assert_int_equal(wakes, 1);
	row_is(ROWS - 1, "");
	assert_true(screen_idle(never));
	row_is(ROWS - 1, "first second");
	assert_false(screen_idle(never));
	screen_output();
	assert_int_equal(wakes, 1);
	put(" third\r\n");
	assert_int_equal(wakes, 2);
	assert_true(screen_idle(never));
	row_is(ROWS - 2, "first second third");
}

/* A CPU that gets work leaves the rest to another. */
static void test_interrupted(void **)
{
	for (unsigned i = 0; i < ROWS; i++)
		put("x\r\n");
	wakes = 0;
	given = 3;
	assert_true(screen_idle(wanted));
	row_is(2, "x");
	row_is(ROWS - 2, "first second third");
	screen_idle_ends();
	assert_int_equal(wakes, 1);
	assert_true(screen_idle(never));
	row_is(ROWS - 2, "x");
	screen_idle_ends();
	assert_int_equal(wakes, 1);
	assert_false(screen_idle(never));
}

static void print_now(void)
{
	put("meanwhile\r\n");
	assert_int_equal(wakes, 0);
}

/* The same when it is drawn at once. */
static void test_printed_while_shown(void **)
{
	wakes = 0;
	before_lock = print_now;
	screen_show();
	assert_int_equal(wakes, 1);
	assert_true(screen_idle(never));
	row_is(ROWS - 2, "meanwhile");
}

static bool print_once(void)
{
	static bool done;

	if (!done) {
		done = true;
		wakes = 0;
		put("while another draws\r\n");
		/* It looks again; nobody else is woken, nor may draw. */
		assert_int_equal(wakes, 0);
		assert_false(screen_idle(never));
	}
	return false;
}

static void test_printed_while_drawn(void **)
{
	put("now\r\n");
	assert_true(screen_idle(print_once));
	assert_true(screen_idle(never));
	row_is(ROWS - 2, "while another draws");
}

/* More than the ring holds: its end is shown. */
static void test_flood(void **)
{
	char text[64];

	for (unsigned i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "flood %u\r\n", i);
		put(text);
	}
	assert_true(screen_idle(never));
	row_is(ROWS - 2, "flood 2999");
	row_is(0, "flood 2981");
}

/* Only what changes is written: a screen that shows it already is left alone. */
static void test_unchanged(void **)
{
	static u8 before[SIZE];

	put("\ra\rb\r \r");
	memset(pixels, 0x55, sizeof(pixels));
	memcpy(before, pixels, sizeof(pixels));
	assert_true(screen_idle(never));
	assert_memory_equal(pixels, before, sizeof(pixels));
	/* The rest of this life begins with all of it black. */
	memset(pixels, 0, sizeof(pixels));
	for (unsigned i = 0; i < ROWS; i++)
		put("################################################################\r\n");
	assert_true(screen_idle(never));
	for (unsigned i = 0; i < ROWS; i++)
		put("\r\n");
	assert_true(screen_idle(never));
	row_is(ROWS - 1, "");
}

static void locked_once_more(void)
{
	fail_msg("a fault while it draws must not draw again");
}

static void fault(void)
{
	before_lock = locked_once_more;
	screen_show();
	before_lock = NULL;
}

/* The CPU that panics draws at once, whoever was about to; nothing waits any more. */
static bool panic_here(void)
{
	u64 before = tsc;

	screen_panic();
	wakes = 0;
	for (unsigned i = 0; i < 40; i++) {
		put("report\r\n");
		screen_show();
	}
	screen_last_page();
	assert_true(tsc == before);
	before_lock = fault;
	screen_show();
	put("panic\r\n");
	screen_show();
	row_is(ROWS - 2, "panic");
	put("again\r\n");
	screen_show();
	row_is(ROWS - 2, "again");
	assert_int_equal(wakes, 0);
	return true;
}

static void test_panic(void **)
{
	init_without_line();
	put("soon\r\n");
	screen_idle(panic_here);
}

static void test_yield(void **)
{
	screen_yield(ADDRESS - 0x1000, 0x1000);
	screen_yield(ADDRESS + SIZE, 0x1000);
	screen_yield(ADDRESS, 0);
	put("still\r\n");
	screen_show();
	row_is(ROWS - 2, "still");
	screen_yield(ADDRESS - 0x1000, 0x1001);
	row_is(ROWS - 2, "screen: a VM gets its device: nothing more is drawn");
	put("not any more\r\n");
	screen_show();
	assert_false(screen_idle(never));
	row_is(ROWS - 2, "screen: a VM gets its device: nothing more is drawn");
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none), cmocka_unit_test(test_first),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_anew), cmocka_unit_test(test_idle),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_printed_while_shown),
		cmocka_unit_test(test_printed_while_drawn), cmocka_unit_test(test_flood),
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_panic), cmocka_unit_test(test_yield),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
