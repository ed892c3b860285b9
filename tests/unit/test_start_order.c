/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c vmm/slots/node_events.c vmm/node/outcome.c vmm/slots/follow_up.c vmm/slots/slot_stages.c lib/span.c */
/*
 * Who was told to start first has its choice of the memory first, whichever CPU does it and
 * whenever one is free for it.
 */
#include "tests/unit/fake_control.h"

/*
 * Whatever their numbers: a later one does not begin before an earlier one has its memory, or could
 * not have it.
 */
static void test_two_at_once(void **)
{
	assert_int_equal(monitor_vm_start(2), 0);
	assert_int_equal(monitor_vm_start(0), 0);
	assert_false(comes_later(&monitor_slots[2]));
	assert_true(comes_later(&monitor_slots[0]));
	/* place_vm()'s. */
	monitor_slots[2].order = 0;
	assert_false(comes_later(&monitor_slots[0]));
	/* One that failed before. */
	monitor_slots[2].order = 1;
	run(0);
	assert_int_equal(monitor_slots[2].order, 0);
	assert_false(comes_later(&monitor_slots[0]));
	run(1);
	assert_int_equal(held, 0);
}

/*
 * Those for which no CPU was free get one in the order in which they were told, and nobody comes in
 * between.
 */
static void test_queue(void **)
{
	static const unsigned order[] = { 3, 2, 0, 1 };

	fake_host.nr_cpus = 1;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(monitor_vm_start(order[i]), 0);
	assert_true(monitor_slots[2].queued && monitor_slots[0].queued);
	/* A CPU is free now, but not for the one that comes last. */
	fake_host.nr_cpus = 2;
	assert_int_equal(monitor_vm_start(1), 0);
	assert_true(monitor_slots[1].queued && !fake_host.work[1]);
	for (unsigned i = 0; i < 4; i++)
		run(i < 2 ? 0 : 1 - (i & 1));
	assert_int_equal(nr_started, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(started[i], order[i]);
	assert_true(!held && !monitor_busy);
}

/* One that no CPU is free for, and none will be, has not started, and holds nobody up. */
static void test_no_cpu(void **)
{
	struct outcome o;

	fake_host.nr_cpus = 0;
	assert_int_equal(monitor_vm_start(1), -ENOSPC);
	assert_true(!monitor_slots[1].order && monitor_slots[1].state == OVER && !held);
	outcome_of(&monitor_slots[1], &o);
	assert_string_equal(o.kind, OUTCOME_NOT_STARTED);
	assert_string_equal(o.why, "no CPU is free");
	/* The same of one that waited for a CPU of others. */
	monitor_busy = 1;
	assert_int_equal(monitor_vm_start(2), 0);
	monitor_not_busy();
	assert_true(!monitor_slots[2].order && !monitor_slots[2].queued &&
		    monitor_slots[2].state == OVER && !held);
	outcome_of(&monitor_slots[2], &o);
	assert_string_equal(o.why, "no CPU is free");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_two_at_once, begin),
		cmocka_unit_test_setup(test_queue, begin),
		cmocka_unit_test_setup(test_no_cpu, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
