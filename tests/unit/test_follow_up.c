/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/slots/follow_up.c vmm/slots/restart_limit.c */
/* Each end and what follows it; restarts up to the limit, again after its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <margay/host.h>
#include "vmm/slots/follow_up.h"
#include "vmm/slots/restart_limit.h"

#define KHZ 2000000ull
#define SECOND (1000 * KHZ)

static u64 now;
static unsigned logged;

u64 host_tsc(void)
{
	return now;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

void host_log(const char *fmt, ...)
{
	logged += !!fmt;
}

static bool may(struct restarts *r, const struct vm_config *c, u64 when)
{
	now = when;
	return vm_may_restart(r, c);
}

static void test_ends(void **)
{
	static const struct vm_config c = { .then = { THEN_POWEROFF_NODE, THEN_RESTART,
						      THEN_REBOOT_NODE } };
	static const struct {
		enum vm_end end;
		u32 status;
		enum vm_then then;
		bool well;
	} rows[] = {
		{ VM_END_POWEROFF, 0, THEN_POWEROFF_NODE, true },
		{ VM_END_RESET_ACPI, 0, THEN_RESTART, true },
		{ VM_END_RESET_KBD, 7, THEN_RESTART, true },
		{ VM_END_RESET_CF9, 0, THEN_RESTART, true },
		{ VM_END_TRIPLE_FAULT, 0, THEN_REBOOT_NODE, false },
		{ VM_END_CRASH, 0, THEN_REBOOT_NODE, false },
		{ VM_END_PANICKED, 0, THEN_REBOOT_NODE, false },
		{ VM_END_WATCHDOG, 0, THEN_REBOOT_NODE, false },
		{ VM_END_EXIT, 0, THEN_POWEROFF_NODE, true },
		{ VM_END_EXIT, 1, THEN_REBOOT_NODE, false },
		{ VM_END_STOPPED, 0, THEN_STOP, true },
		{ VM_END_ANEW, 0, THEN_RESTART, true },
		{ VM_RUNNING, 0, THEN_REBOOT_NODE, false },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(vm_follow_up(&c, rows[i].end, rows[i].status), rows[i].then);
		assert_int_equal(vm_ended_well(rows[i].end, rows[i].status), rows[i].well);
	}
}

/* What was blocked is no crash: it has a key of its own. */
static void test_fault(void **)
{
	struct vm_config c = { .then = { THEN_REBOOT_NODE, THEN_REBOOT_NODE, THEN_REBOOT_NODE } };

	assert_int_equal(vm_follow_up(&c, VM_END_FAULT, 0), THEN_STOP);
	assert_false(vm_ever_restarts(&c) || vm_ended_well(VM_END_FAULT, 0));
	c.on_fault = ON_FAULT_STOP;
	assert_int_equal(vm_follow_up(&c, VM_END_FAULT, 0), THEN_STOP);
	assert_false(vm_ever_restarts(&c));
	c.on_fault = ON_FAULT_RESTART;
	assert_int_equal(vm_follow_up(&c, VM_END_FAULT, 0), THEN_RESTART);
	assert_int_equal(vm_follow_up(&c, VM_END_CRASH, 0), THEN_REBOOT_NODE);
	assert_true(vm_ever_restarts(&c));
}

/*
 * Lost memory: as a crash, where its key does not say otherwise. The guest that was to be told and
 * could not be, too.
 */
static void test_machine_check(void **)
{
	struct vm_config c = { .then = { THEN_STOP, THEN_STOP, THEN_REBOOT_NODE } };

	assert_int_equal(vm_follow_up(&c, VM_END_MACHINE_CHECK, 0), THEN_REBOOT_NODE);
	c.line_mce = 4;
	assert_int_equal(vm_follow_up(&c, VM_END_MACHINE_CHECK, 0), THEN_STOP);
	assert_int_equal(vm_follow_up(&c, VM_END_CRASH, 0), THEN_REBOOT_NODE);
	assert_false(vm_ever_restarts(&c) || vm_ended_well(VM_END_MACHINE_CHECK, 0));
	c.on_mce = ON_MCE_INJECT;
	assert_int_equal(vm_follow_up(&c, VM_END_MACHINE_CHECK, 0), THEN_REBOOT_NODE);
	assert_false(vm_ever_restarts(&c));
	c.on_mce = ON_MCE_RESTART;
	assert_int_equal(vm_follow_up(&c, VM_END_MACHINE_CHECK, 0), THEN_RESTART);
	assert_true(vm_ever_restarts(&c));
}

static void test_ever(void **)
{
	for (unsigned i = 0; i < VM_ENDINGS; i++) {
		struct vm_config c = { .then = { THEN_POWEROFF_NODE, THEN_STOP,
						 THEN_REBOOT_NODE } };

		assert_false(vm_ever_restarts(&c));
		c.then[i] = THEN_RESTART;
		assert_true(vm_ever_restarts(&c));
	}
}

static void test_limit(void **)
{
	static const struct vm_config limited = { .restart_limit = 2, .restart_seconds = 60 },
				      free = { 0 };
	struct restarts r = { 0 };
	u64 first = 5;

	assert_true(may(&r, &limited, first));
	assert_true(may(&r, &limited, first + 59 * SECOND));
	assert_false(may(&r, &limited, first + 59 * SECOND));
	assert_false(may(&r, &limited, first + 60 * SECOND - 1));
	/* Its minute is over; the next begins with this one. */
	assert_true(may(&r, &limited, first + 60 * SECOND));
	assert_true(may(&r, &limited, first + 119 * SECOND));
	assert_false(may(&r, &limited, first + 120 * SECOND - 1));
	assert_int_equal(logged, 3);
	for (unsigned i = 0; i < 100; i++)
		assert_true(may(&r, &free, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),  cmocka_unit_test(test_ever),
		cmocka_unit_test(test_fault), cmocka_unit_test(test_machine_check),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
