/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/slots/output_log.c vmm/slots/output_stage.c vmm/slots/slot_stages.c vmm/slots/follow_up.c kernel/console/plain.c tests/unit/fake_host.c */
/*
 * The last lines of a guest's output: across runs, when the ring is full, when it fills while they
 * are said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/config/config.h"
#include "vmm/slots/output_log.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"

struct slot monitor_slots[MONITOR_MAX_VMS];

static struct vm_config config = { .name = "a", .console_log = 4 };
static char said[16384];
static unsigned nr_said;
static const char *meanwhile; /* is written when the first line is said */

static void put(unsigned id, const char *text)
{
	output_log_put(id, (const u8 *)text, strlen(text));
}

static void say(const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s|", text);
	if (!nr_said++ && meanwhile)
		for (unsigned i = 0; i < 250; i++)
			put(0, meanwhile);
}

static const char *last(unsigned id, unsigned lines)
{
	said[0] = 0;
	nr_said = 0;
	return output_log_last(id, lines, say) ? said : NULL;
}

static int reset(void **)
{
	fake_host_reset();
	return 0;
}

/* These run in order; what is kept stays. */
static void test_lines(void **)
{
	assert_null(last(0, 5));
	put(0, "before there is a ring");
	output_log_start(0, &config);
	assert_string_equal(last(0, 5), "");
	put(0, "one\r\ntwo\r\n\r\nthr");
	assert_string_equal(last(0, 2), "|thr|");
	put(0, "ee\n");
	assert_string_equal(last(0, 0), "");
	assert_string_equal(last(0, 1), "three|");
	assert_string_equal(last(0, 3), "two||three|");
	assert_string_equal(last(0, 4), "one|two||three|");
	assert_string_equal(last(0, ~0u), "one|two||three|");
	/* The next run's is behind it; another VM's is its own. */
	output_log_start(0, &config);
	put(0, "\x1b[1mfour\x1b[0m\a");
	assert_string_equal(last(0, 4), "three||--- starts again ---|four?|");
	output_log_start(63, &config);
	put(63, "other");
	assert_string_equal(last(63, 9), "other|");
	assert_string_equal(last(0, 1), "four?|");
}

static void test_full(void **)
{
	char line[64], expected[512];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "line %03u\n", i);
		put(0, line);
	}
	assert_string_equal(last(0, 2), "line 998|line 999|");
	/* 4096 bytes are 455 lines of 9, and the last byte of one more. */
	last(0, ~0u);
	assert_int_equal(nr_said, 455 + 1);
	assert_int_equal(strncmp(said, "|line 545|line 546|", 19), 0);
	/*
	 * What is written over while lines are said is left out: of what they had to be, nothing is
	 * left then.
	 */
	meanwhile = "written meanwhile\n";
	assert_string_equal(last(0, 3), "line 997|");
	meanwhile = NULL;
	/* Long ones come in pieces. */
	put(0, "\n");
	memset(expected, 'x', 500);
	expected[500] = 0;
	put(0, expected);
	expected[240] = expected[481] = '|';
	memset(expected + 482, 'x', 20);
	strcpy(expected + 502, "|");
	assert_string_equal(last(0, 1), expected);
}

/* Of a large ring, no more than an operator's line takes; the last of it. */
static void test_large(void **)
{
	static struct vm_config large = { .name = "d", .console_log = 256 };
	char line[64];

	output_log_start(3, &large);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(line, sizeof(line), "line %05u\n", i);
		put(3, line);
	}
	last(3, ~0u);
	assert_int_equal(nr_said, OUTPUT_LOG_LAST / 11 + 1);
	assert_string_equal(last(3, 2), "line 19998|line 19999|");
}

static void test_without(void **)
{
	static struct vm_config none = { .name = "b", .console_log = 0 },
				much = { .name = "c", .console_log = 16384 };

	output_log_start(1, &none);
	put(1, "x\n");
	assert_null(last(1, 1));
	assert_string_equal(fake_host.log, "");
	fake_host.pages_until_fail = 1;
	output_log_start(2, &much);
	put(2, "x\n");
	assert_null(last(2, 1));
	assert_string_equal(fake_host.log,
			    "c: console_log: no memory for 16384 KiB: its output is not kept\n");
}

/* The node's log gets them in the same words: of a guest that ended badly, whatever it said. */
static void test_into_the_log(void **)
{
	static struct vm_config config = { .name = "d", .console_log = 4 };
	struct slot *s = &monitor_slots[3];

	s->config = &config;
	stages_slot(s, SLOT_BEGINS, NULL);
	put(3, "one\ntwo\r\n\x1b[31mthree: end=");
	assert_true(output_log_last(3, 2, NULL));
	assert_string_equal(fake_host.log, "(quiet) d: > two\n(quiet) d: > three: end=\n");
	assert_false(output_log_last(4, 2, NULL));
	fake_host.log[0] = 0;
	s->last_end = VM_END_POWEROFF;
	stages_slot(s, SLOT_TOLD, NULL);
	assert_string_equal(fake_host.log, "");
	s->last_end = VM_END_PANICKED;
	stages_slot(s, SLOT_TOLD, NULL);
	assert_non_null(strstr(fake_host.log, "d: > one\n(quiet) d: > two\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_large),
		cmocka_unit_test_setup(test_without, reset),
		cmocka_unit_test_setup(test_into_the_log, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
