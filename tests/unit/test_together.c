/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/node/together.c vmm/config/config_set.c @tests/unit/vm_files.sources lib/span.c tests/unit/fake_host.c */
/*
 * VM files beside each other: which are refused for `trusted`, for their name, for `after`; who
 * waits for whom.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/config/config.h"
#include "vmm/slots/slot.h"

struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots;

/*
 * Files by letters: t trusted, - not, x not understood. Returns those that are left, by the same.
 */
static const char *left(const char *files)
{
	static char is[8];

	fake_host_reset();
	memset(monitor_slots, 0, sizeof(monitor_slots));
	for (monitor_nr_slots = 0; files[monitor_nr_slots]; monitor_nr_slots++) {
		struct slot *s = &monitor_slots[monitor_nr_slots];
		const char *text = files[monitor_nr_slots] == 't'
					   ? "kernel = k\nmemory = 64M\ntrusted = yes\n"
					   : "kernel = k\nmemory = 64M\n";
		struct config_error err;

		snprintf(s->file, sizeof(s->file), "%u.conf", monitor_nr_slots);
		if (files[monitor_nr_slots] == 'x')
			continue;
		s->config = host_pages_alloc(SLOT_CONFIG_PAGES, -1);
		assert_int_equal(
			vm_config_parse(s->file, text, strlen(text), s->config, &err, NULL), 0);
		snprintf(s->config->name, sizeof(s->config->name), "vm%u", monitor_nr_slots);
	}
	monitor_check_together();
	memset(is, 0, sizeof(is));
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];

		is[i] = 'x';
		if (s->config)
			is[i] = s->config->trusted ? 't' : '-';
		assert_int_equal(s->state, files[i] == 't' && is[i] == 'x' ? OVER : WAITING);
		if (s->config)
			host_pages_free(s->config, SLOT_CONFIG_PAGES);
	}
	assert_int_equal(fake_host.pages_in_use, 0);
	return is;
}

static void test_alone(void **)
{
	assert_string_equal(left("t"), "t");
	assert_string_equal(left("tt"), "tt");
	assert_string_equal(left("-"), "-");
	assert_string_equal(left("--"), "--");
	assert_string_equal(left("tx"), "tx");
	assert_string_equal(fake_host.log, "");
}

static void test_beside(void **)
{
	assert_string_equal(left("t-"), "x-");
	assert_string_equal(
		fake_host.log,
		"margay: 0.conf:3: trusted = yes: not beside 1.conf, which is not trusted: it could "
		"read that one's memory\n");
	assert_string_equal(left("-tt"), "-xx");
	assert_non_null(
		strstr(fake_host.log, "margay: 1.conf:3: trusted = yes: not beside 0.conf"));
	assert_non_null(
		strstr(fake_host.log, "\nmargay: 2.conf:3: trusted = yes: not beside 0.conf"));
}

/*
 * Two letters for each VM file: its name, in capitals where it is not understood, and the one after
 * which it comes, or '-'.
 */
static void boot(const char *vms)
{
	fake_host_reset();
	memset(monitor_slots, 0, sizeof(monitor_slots));
	for (monitor_nr_slots = 0; vms[2 * monitor_nr_slots]; monitor_nr_slots++) {
		struct slot *s = &monitor_slots[monitor_nr_slots];
		const char *vm = vms + 2 * monitor_nr_slots;
		struct config_error err;
		char text[100];
		bool good = *vm >= 'a';
		int n = snprintf(text, sizeof(text), "name = %c\nkernel = k\n%s", *vm | 0x20,
				 good ? "memory = 64M\n" : "");

		if (vm[1] != '-')
			snprintf(text + n, sizeof(text) - (size_t)n, "after = %c\n", vm[1]);
		snprintf(s->file, sizeof(s->file), "%u.conf", monitor_nr_slots);
		s->config = host_pages_alloc(SLOT_CONFIG_PAGES, -1);
		assert_int_equal(vm_config_parse(s->file, text, strlen(text), s->config, &err,
						 NULL),
				 good ? 0 : -EINVAL);
		s->state = good ? WAITING : OVER;
	}
	monitor_check_together();
}

static void done(void)
{
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (monitor_slots[i].config)
			host_pages_free(monitor_slots[i].config, SLOT_CONFIG_PAGES);
	assert_int_equal(fake_host.pages_in_use, 0);
}

static void test_names(void **)
{
	boot("a-b-a-");
	assert_non_null(monitor_slots[0].config);
	assert_non_null(monitor_slots[1].config);
	assert_null(monitor_slots[2].config);
	assert_int_equal(monitor_slots[2].state, OVER);
	assert_string_equal(
		fake_host.log,
		"margay: 2.conf:1: name = a: 0.conf has that name already: choose another\n");
	done();
}

static void test_after(void **)
{
	boot("a-b-caxbdc");
	assert_string_equal(fake_host.log, "");
	assert_null(monitor_slots[0].after);
	assert_ptr_equal(monitor_slots[2].after, &monitor_slots[0]);
	assert_ptr_equal(monitor_slots[3].after, &monitor_slots[1]);
	assert_ptr_equal(monitor_slots[4].after, &monitor_slots[2]);
	done();
	/*
	 * Later ones and itself are none; who was refused, or not understood, is as one that could
	 * not start.
	 */
	boot("abb-ccb-dc");
	assert_string_equal(
		fake_host.log,
		"margay: 0.conf:4: after = b: no earlier VM file is of that name; the order is the boot "
		"loader's\n"
		"margay: 2.conf:4: after = c: no earlier VM file is of that name; the order is the boot "
		"loader's\n"
		"margay: 3.conf:1: name = b: 1.conf has that name already: choose another\n");
	assert_non_null(monitor_slots[4].config);
	assert_ptr_equal(monitor_slots[4].after, &monitor_slots[2]);
	done();
	boot("A-ba");
	assert_string_equal(fake_host.log, "");
	assert_null(monitor_slots[0].config);
	assert_int_equal(monitor_slots[0].state, OVER);
	assert_ptr_equal(monitor_slots[1].after, &monitor_slots[0]);
	done();
	/*
	 * One that can start comes before one of the same name that cannot, and is no second one of
	 * that name.
	 */
	boot("A-a-baA-");
	assert_string_equal(fake_host.log, "");
	assert_ptr_equal(monitor_slots[2].after, &monitor_slots[1]);
	done();
	boot("a-A-ba");
	assert_ptr_equal(monitor_slots[2].after, &monitor_slots[0]);
	done();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_alone),
					    cmocka_unit_test(test_beside),
					    cmocka_unit_test(test_names),
					    cmocka_unit_test(test_after) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
