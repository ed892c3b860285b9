/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/log_copy.c */
/* The log from any place on: whole lines, each once, also while it is written over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "kernel/console/log_parts.h"

struct log_ring printk_log;
u64 log_first;
static u64 tsc, khz, wall;

u64 host_tsc_khz(void)
{
	return khz;
}

u64 host_wall_clock(u64 *at)
{
	*at = tsc;
	return wall;
}

static void add(const char *line)
{
	for (const char *c = line; *c; c++)
		printk_log.text[printk_log.head++ % PRINTK_RING] = *c;
}

static void add_line(unsigned n)
{
	char line[64];

	snprintf(line, sizeof(line), "%u[%5u.000] margay: %0*u\n", n % 3, n, 1 + n % 20, n);
	add(line);
}

static void test_from(void **)
{
	char to[100];
	u64 at = 0;

	printk_log.head = 0;
	assert_int_equal(host_log_copy(&at, to, sizeof(to)), 0);
	assert_int_equal(at, 0);
	add("0first\n1second\n2thi");
	/* A line that is being written comes when it is whole. */
	assert_int_equal(host_log_copy(&at, to, sizeof(to)), 15);
	assert_memory_equal(to, "0first\n1second\n", 15);
	assert_int_equal(host_log_copy(&at, to, 14), 7);
	at = 15;
	assert_int_equal(host_log_copy(&at, to, sizeof(to)), 0);
	add("rd\n");
	assert_int_equal(host_log_copy(&at, to, sizeof(to)), 7);
	assert_memory_equal(to, "2third\n", 7);
	/* Another boot's place. */
	at = 1000;
	assert_int_equal(host_log_copy(&at, to, sizeof(to)), 22);
	assert_int_equal(at, 0);
}

/* However the ring has gone round, the oldest whole line comes first, and all behind it. */
static void test_round(void **)
{
	static char to[32000];
	unsigned n = 0, line;

	printk_log.head = 0;
	for (unsigned turn = 0; turn < 300; turn++) {
		u64 at = turn % 2 ? 0 : 1ull << 60, began;
		u32 bytes;
		unsigned expected = 0, lines = 0;

		for (unsigned i = 0; i < 1 + turn * 7; i++)
			add_line(n++);
		began = ~0ull;
		while ((bytes = host_log_copy(&at, to, sizeof(to)))) {
			to[bytes - 1] = 0;
			began = MIN(began, at);
			for (char *p = to, *end; p && *p; p = end ? end + 1 : NULL) {
				end = strchr(p, '\n');
				assert_int_equal(sscanf(p + 1, "[%u.000] margay:", &line), 1);
				assert_int_equal(*p, '0' + line % 3);
				assert_true(!lines || line == expected);
				expected = line + 1;
				lines++;
			}
			at += bytes;
		}
		assert_int_equal(at, printk_log.head);
		assert_int_equal(expected, n);
		/* No more is left out than one line. */
		assert_true(printk_log.head - began + 100 > MIN(printk_log.head, PRINTK_RING));
		assert_true(printk_log.head - began <= PRINTK_RING);
	}
}

static void test_began(void **)
{
	/* Coarse before: nothing is kept of it. */
	assert_int_equal(host_log_began(), 0);
	khz = 2000;
	log_first = 5000;
	tsc = 5000 + 2000 * 1500;
	wall = 1700000000ull * 1000000000 + 1500999999;
	assert_int_equal(host_log_began(), 1700000000000);
	/* It says the same from then on. */
	tsc += 2000 * 1000;
	assert_int_equal(host_log_began(), 1700000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_from),
					    cmocka_unit_test(test_round),
					    cmocka_unit_test(test_began) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
