/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/hwcheck_encode.c */
/*
 * The lines of the dump: read back by a reader of their own, they are what was written; none is too
 * long for 80 columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/report/hwcheck_encode.h"

#define LARGEST 70000

static char lines[4000][128];
static unsigned nr_lines;
static u8 packed[2 * LARGEST], out[LARGEST + 64];

static void take(const char *text)
{
	assert_true(nr_lines < ARRAY_SIZE(lines) && strlen(text) < 80);
	strcpy(lines[nr_lines++], text);
}

static struct dump dump = { .line = take };

static void write_item(const void *data, size_t size, const char *fmt, ...) __printf(3, 4);
static void write_item(const void *data, size_t size, const char *fmt, ...)
{
	va_list ap;

	nr_lines = 0;
	va_start(ap, fmt);
	dump_item(&dump, data, size, fmt, ap);
	va_end(ap);
}

/* Bit by bit, the polynomial's other way round. */
static u32 crc_of(const char *text, size_t n, u32 before)
{
	u32 crc = ~before;

	for (size_t i = 0; i < 8 * n; i++) {
		u32 bit = ((u8)text[i / 8] >> i % 8 & 1) ^ (crc & 1);

		crc = (crc >> 1) ^ (bit ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* The text of line i without "dump: " and its CRC, which must be that of the item up to there. */
static const char *text_of(unsigned i, u32 *crc)
{
	static char text[128];
	char *end;

	assert_memory_equal(lines[i], "dump: ", 6);
	strcpy(text, lines[i] + 6);
	end = strrchr(text, ' ');
	assert_non_null(end);
	*end = 0;
	*crc = crc_of(text, strlen(text), i ? *crc : 0);
	assert_int_equal(strtoul(end + 1, NULL, 16), *crc);
	assert_int_equal(strlen(end + 1), 8);
	return text;
}

static unsigned digit(char c)
{
	static const char all[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = strchr(all, c);

	assert_non_null(p);
	return (unsigned)(p - all);
}

static size_t base64(const char *text, u8 *to)
{
	size_t n = 0;

	for (; *text && *text != '.'; text += 4) {
		u32 bits = digit(text[0]) << 18 | digit(text[1]) << 12;
		unsigned bytes = 3 - (text[2] == '=') - (text[3] == '=');

		bits |= (bytes > 1 ? digit(text[2]) << 6 : 0) | (bytes > 2 ? digit(text[3]) : 0);
		for (unsigned i = 0; i < bytes; i++)
			to[n++] = (u8)(bits >> (16 - 8 * i));
	}
	return n;
}

static size_t unpack(size_t n)
{
	size_t at = 0, have = 0;

	while (at < n) {
		u8 flags = packed[at++];

		for (unsigned i = 0; i < 8 && at < n; i++) {
			u32 pair;

			if (!(flags >> i & 1)) {
				out[have++] = packed[at++];
				continue;
			}
			pair = (u32)(packed[at] | packed[at + 1] << 8);
			at += 2;
			assert_true((pair & 0x7ff) < have);
			for (u32 k = 0; k < (pair >> 11) + 3; k++, have++)
				out[have] = out[have - (pair & 0x7ff) - 1];
			assert_true(have <= LARGEST);
		}
	}
	return have;
}

/* Writes, reads, compares; the lines that it took, apart from the first. */
static unsigned round_trip(const u8 *data, size_t size)
{
	char first[80];
	size_t n = 0, have;
	u32 crc = 0;

	snprintf(first, sizeof(first), "%u thing 7 data=%zu", dump.items, size);
	write_item(data, size, "thing %u", 7);
	assert_string_equal(text_of(0, &crc), first);
	for (unsigned i = 1; i < nr_lines; i++) {
		const char *text = text_of(i, &crc);

		assert_true((i == nr_lines - 1) == (text[strlen(text) - 1] == '.'));
		n += base64(text, packed + n);
	}
	assert_true(nr_lines > 1);
	have = unpack(n);
	assert_true(have <= size);
	memset(out + have, 0, size - have);
	assert_memory_equal(out, data, size);
	return nr_lines - 1;
}

static void test_text(void **)
{
	u32 crc = 0;

	dump.items = 41;
	write_item(NULL, 5, "cpu %u %x", 3, 0xab);
	assert_int_equal(nr_lines, 1);
	assert_string_equal(text_of(0, &crc), "41 cpu 3 ab");
	assert_int_equal(dump.items, 42);
	/* CRC-32's check value. */
	assert_int_equal(crc_of("123456789", 9, 0), 0xcbf43926);
}

static void test_sizes(void **)
{
	static u8 data[300];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 167 + (i >> 3));
	for (size_t size = 0; size <= sizeof(data); size++)
		round_trip(data, size);
	data[0] = 0;
	assert_int_equal(round_trip(data, 1), 1);
}

/* Runs, repetitions near and far, at the limits of what a pair can say. */
static void test_contents(void **)
{
	static u8 data[LARGEST];
	u32 seed = 1;

	assert_int_equal(round_trip(data, LARGEST), 1);
	data[LARGEST - 1] = 1;
	assert_true(round_trip(data, LARGEST) < 110);
	memset(data, 0xff, LARGEST);
	assert_true(round_trip(data, LARGEST) < 110);
	for (unsigned period = 1; period < 2100; period += period < 40 ? 1 : 229) {
		for (unsigned i = 0; i < 8000; i++) {
			seed = seed * 1103515245 + 12345;
			data[i] = i < period ? (u8)(seed >> 16) : data[i - period];
		}
		round_trip(data, 8000);
	}
	for (unsigned period = 2047; period < 2051; period++) {
		for (unsigned i = 0; i < 4096; i++) {
			seed = seed * 1103515245 + 12345;
			data[i] = i < period ? (u8)(seed >> 16) : data[i - period];
		}
		/* What lies 2048 bytes back is still seen. */
		assert_int_equal(round_trip(data, 4096) < 58, period <= 2048);
	}
	for (unsigned i = 0; i < 20000; i++) {
		seed = seed * 1103515245 + 12345;
		data[i] = seed >> 29 ? (u8)(seed >> 20 & 3) : (u8)(seed >> 16);
	}
	round_trip(data, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
