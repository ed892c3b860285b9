/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/trust.c vmm/config/config.c vmm/config/config_pci.c vmm/config/config_ends.c vmm/config/config_shape.c kernel/span.c tests/unit/fake_host.c */
/* Which VM files are refused for `trusted`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/config/config.h"
#include "vmm/slot.h"

struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots;

/* Files by letters: t trusted, - not, x not understood. Returns those that are left, by the same. */
static const char *left(const char *files)
{
	static char is[8];

	fake_host_reset();
	memset(monitor_slots, 0, sizeof(monitor_slots));
	for (monitor_nr_slots = 0; files[monitor_nr_slots]; monitor_nr_slots++) {
		struct slot *s = &monitor_slots[monitor_nr_slots];
		const char *text = files[monitor_nr_slots] == 't' ? "kernel = k\nmemory = 64M\ntrusted = yes\n" :
								   "kernel = k\nmemory = 64M\n";
		struct config_error err;

		snprintf(s->file, sizeof(s->file), "%u.conf", monitor_nr_slots);
		if (files[monitor_nr_slots] == 'x')
			continue;
		s->config = host_pages_alloc(1, -1);
		assert_int_equal(vm_config_parse(s->file, text, strlen(text), s->config, &err), 0);
	}
	monitor_refuse_trusted();
	memset(is, 0, sizeof(is));
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];

		is[i] = !s->config ? 'x' : s->config->trusted ? 't' : '-';
		assert_int_equal(s->state, files[i] == 't' && is[i] == 'x' ? OVER : WAITING);
		if (s->config)
			host_pages_free(s->config, 1);
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
	assert_string_equal(fake_host.log, "margay: 0.conf:3: trusted = yes: not beside 1.conf, which is not trusted: it could "
					   "read that one's memory\n");
	assert_string_equal(left("-tt"), "-xx");
	assert_non_null(strstr(fake_host.log, "margay: 1.conf:3: trusted = yes: not beside 0.conf"));
	assert_non_null(strstr(fake_host.log, "\nmargay: 2.conf:3: trusted = yes: not beside 0.conf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_alone), cmocka_unit_test(test_beside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
