/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/memory/modules_late.c */
/*
 * Modules that come after the boot: found by whoever looks through all of them, gone by their name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "kernel/memory/modules.h"

static void test_modules(void **)
{
	char name[16];

	assert_null(module_late(0));
	for (unsigned i = 0; i < HOST_LATE_MODULES; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(host_module_add(name, &name[i % 8], i + 1), 0);
		assert_null(module_late(i + 1));
	}
	assert_int_equal(host_module_add("more", name, 1), -ENOSPC);
	for (unsigned i = 0; i < HOST_LATE_MODULES; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_string_equal(module_late(i)->name, name);
		assert_string_equal(module_late(i)->args, "");
		assert_true(module_late(i)->data == &name[i % 8] && module_late(i)->size == i + 1);
	}
	/* Its place has no name, and is the next one's; the others stay where they are. */
	host_module_remove("m5");
	host_module_remove("none");
	assert_string_equal(module_late(5)->name, "");
	assert_string_equal(module_late(6)->name, "m6");
	assert_int_equal(host_module_add("new", name, 7), 0);
	assert_string_equal(module_late(5)->name, "new");
	assert_int_equal(module_late(5)->size, 7);
	assert_null(module_late(HOST_LATE_MODULES));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_modules) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
