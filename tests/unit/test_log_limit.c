/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/log_limited.c -lpthread */
/* Lines that a guest can cause as often as it likes: which are said, and how many were not. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>

#define SECOND 1000000ull
#define SAID 1000u /* by each vCPU */

static u64 now;
static char text[600];
static unsigned lines, counted; /* and those that lines have counted */
static struct log_limit limit;

u64 host_tsc(void)
{
	return now;
}

u64 host_tsc_khz(void)
{
	return SECOND / 1000;
}

void host_log(const char *fmt, ...)
{
	char line[sizeof(text)], *more;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	memcpy(text, line, sizeof(text)); /* of several at once any */
	more = strstr(line, " more since the last line");
	while (more && more > line && more[-1] != ' ')
		more--;
	if (more)
		__atomic_add_fetch(&counted, (unsigned)strtoul(more, NULL, 10), __ATOMIC_RELAXED);
	__atomic_add_fetch(&lines, 1, __ATOMIC_RELAXED);
}

static int setup(void **)
{
	now = lines = counted = 0;
	limit = (struct log_limit){ 0 };
	return 0;
}

static void say(unsigned times)
{
	while (times--)
		host_log_limited(&limit, "vm0", "a %s", "line");
}

/*
 * Sixteen at once, then one in ten seconds, with what was left out; and after a quiet time sixteen
 * again.
 */
static void test_burst(void **)
{
	say(16);
	assert_int_equal(lines, 16);
	assert_string_equal(text, "vm0: a line");
	say(100000);
	assert_int_equal(lines, 16);
	assert_int_equal(limit.unsaid, 100000);
	now += 10 * SECOND - 1;
	say(1);
	assert_int_equal(lines, 16);
	now++;
	say(2);
	assert_int_equal(lines, 17);
	assert_string_equal(text, "vm0: a line, 100001 more since the last line");
	assert_int_equal(limit.unsaid, 1);
	now += 10000 * SECOND;
	say(20);
	assert_int_equal(lines, 17 + 16);
	assert_string_equal(text, "vm0: a line");
}

/* A day of one who never stops. */
static void test_flood(void **)
{
	for (; now < 86400 * SECOND; now += SECOND / 10)
		say(1);
	assert_in_range(lines, 8640, 8640 + 16);
}

/* One at once, where the source says so. */
static void test_one(void **)
{
	limit.burst = 1;
	say(5);
	assert_int_equal(lines, 1);
	now += 10 * SECOND;
	say(5);
	assert_int_equal(lines, 2);
	assert_string_equal(text, "vm0: a line, 4 more since the last line");
}

/* The count stands in the line however long that is. */
static void test_long(void **)
{
	char word[600];

	limit.burst = 1;
	say(3);
	now += 10 * SECOND;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	host_log_limited(&limit, "a-virtual-machine-of-31-letters", "%s", word);
	assert_non_null(strstr(text, "x, 2 more since the last line"));
	assert_true(strlen(text) + sizeof("[   12.345] ") <= HOST_LOG_LINE);
}

static void *sayer(void *)
{
	say(SAID);
	return NULL;
}

/* All vCPUs of a VM at once: no line more, and each is counted. */
static void test_at_once(void **)
{
	pthread_t thread[4];

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sayer, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(lines, 16);
	assert_int_equal(counted + limit.unsaid, 4 * SAID - 16);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup(fn, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_burst), TEST(test_flood),   TEST(test_one),
		TEST(test_long),  TEST(test_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
