/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c vmm/slots/node_events.c vmm/node/outcome.c vmm/slots/follow_up.c vmm/slots/slot_stages.c lib/span.c */
/* What a word to start or to stop comes to, by what the VM does just then. */
#include "tests/unit/fake_control.h"

static struct vm vm;

/* Slot 0 has a VM that ends as this says. */
static struct slot *with_vm(enum vm_end end)
{
	vm = (struct vm){ .end = end };
	monitor_slots[0].vm = &vm;
	monitor_slots[0].state = STARTED;
	monitor_slots[0].starts = 1;
	return &monitor_slots[0];
}

static void test_start(void **)
{
	struct slot *s = &monitor_slots[0];

	s->stopped = true;
	s->restarts.count = 1;
	assert_int_equal(monitor_vm_start(0), 0);
	assert_true(s->state == STARTED && !s->stopped && !s->again && !s->restarts.count);
	assert_int_equal(held, 1);
	run(0);
	assert_int_equal(nr_started, 1);
}

/* Nothing is changed by a word that is refused. */
static void test_start_refused(void **)
{
	struct slot *s = with_vm(VM_RUNNING);

	s->stopped = true;
	s->again = true;
	assert_int_equal(monitor_vm_start(0), -EBUSY);
	assert_true(s->stopped && s->again && !held);
	hvm = NULL;
	monitor_slots[1].stopped = true;
	assert_int_equal(monitor_vm_start(1), -ENODEV);
	assert_true(monitor_slots[1].stopped && monitor_slots[1].state == OVER);
	hvm = &ops;
	monitor_slots[1].config = NULL;
	assert_int_equal(monitor_vm_start(1), -EINVAL);
	/* What it waited for is over, and it waits no more. */
	assert_int_equal(start(2, false), -EBUSY);
	assert_int_equal(held, 0);
}

/* It starts behind its end, whoever wanted that end. */
static void test_start_while_it_ends(void **)
{
	static const enum slot_state ends[] = { ENDING, ENDED };
	struct slot *s = with_vm(VM_END_CRASH);

	s->stopped = true;
	assert_int_equal(monitor_vm_start(0), 0);
	assert_true(s->again && !s->stopped && s->state == STARTED);
	for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
		monitor_slots[1].state = ends[i];
		monitor_slots[1].again = false;
		assert_int_equal(monitor_vm_start(1), 0);
		assert_true(monitor_slots[1].again && monitor_slots[1].state == ends[i]);
	}
	assert_true(!held && !nr_started);
}

/* It waits for a function of its own of before; until that is there a word changes nothing. */
static void test_start_while_it_waits(void **)
{
	struct slot *s = &monitor_slots[0];

	s->state = WAITING;
	s->starts = 1;
	functions_are_there = false;
	assert_int_equal(monitor_vm_start(0), 0);
	assert_true(s->state == WAITING && !held);
	functions_are_there = true;
	assert_int_equal(monitor_vm_start(0), 0);
	assert_true(s->state == STARTED && held == 1);
}

static void test_stop(void **)
{
	struct slot *s = with_vm(VM_RUNNING);

	s->again = true;
	assert_int_equal(monitor_vm_stop(0, false), 0);
	assert_true(vm.end == VM_END_STOPPED && !s->stopped && !s->again && !stopped_again);
	/* There is nothing to stop. */
	assert_int_equal(monitor_vm_stop(1, false), -ENODEV);
	assert_false(monitor_slots[1].stopped);
}

/* There is no vCPU yet, or no more, and there would be one. */
static void test_stop_between(void **)
{
	static const enum slot_state states[] = { STARTED, ENDING };

	for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
		monitor_slots[i].state = states[i];
		assert_int_equal(monitor_vm_stop(i, false), 0);
		assert_true(monitor_slots[i].stopped && stopped_again == i + 1);
	}
	monitor_slots[2].state = ENDED;
	monitor_slots[2].again = true;
	assert_int_equal(monitor_vm_stop(2, false), 0);
	assert_true(monitor_slots[2].stopped && !monitor_slots[2].again);
	with_vm(VM_END_CRASH);
	monitor_slots[0].stopped = false;
	assert_int_equal(monitor_vm_stop(0, false), 0);
	assert_true(monitor_slots[0].stopped && vm.end == VM_END_CRASH);
}

static void test_stop_while_it_waits(void **)
{
	struct slot *s = &monitor_slots[0];

	s->state = WAITING;
	s->starts = 1;
	assert_int_equal(monitor_vm_stop(0, false), 0);
	assert_true(s->state == OVER && !s->stopped);
	/* One that has never started waits for another's end, and goes on. */
	monitor_slots[1].state = WAITING;
	assert_int_equal(monitor_vm_stop(1, false), -ENODEV);
	assert_true(monitor_slots[1].state == WAITING);
}

static void test_restart(void **)
{
	struct slot *s = with_vm(VM_RUNNING);

	assert_int_equal(monitor_vm_stop(0, true), 0);
	assert_true(vm.end == VM_END_STOPPED && s->again && !s->stopped);
	/* None runs: who wants it restarted starts it. */
	assert_int_equal(monitor_vm_stop(1, true), -ENODEV);
	assert_true(!monitor_slots[1].again && !monitor_slots[1].stopped);
}

static unsigned gone; /* how often the operator was told so */

static void line_is_free(const char *name)
{
	assert_string_equal(name, "a");
	gone++;
}

/* Who has the line learns that its VM is over, once, when nothing follows; no other's end. */
static void test_foreground(void **)
{
	static struct host_console console;
	struct slot *s = with_vm(VM_END_POWEROFF);

	monitor_operator(line_is_free);
	vm.console = &console;
	for (unsigned led = 0; led < 2; led++) {
		gone = 0;
		s->vm = &vm;
		fake_host.console = led ? &console : NULL;
		stages_slot(s, SLOT_ENDED, NULL);
		fake_host.console = NULL;
		/* It starts again, and is stopped before it has a VM. */
		s->vm = NULL;
		stages_slot(s, SLOT_ENDED, NULL);
		s->state = STARTED;
		stages_slot(s, SLOT_DONE, NULL);
		assert_int_equal(gone, 0);
		s->state = OVER;
		stages_slot(s, SLOT_DONE, NULL);
		stages_slot(s, SLOT_DONE, NULL);
		stages_slot(&monitor_slots[1], SLOT_DONE, NULL);
		assert_int_equal(gone, led);
	}
	monitor_operator(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_start, begin),
		cmocka_unit_test_setup(test_start_refused, begin),
		cmocka_unit_test_setup(test_start_while_it_ends, begin),
		cmocka_unit_test_setup(test_start_while_it_waits, begin),
		cmocka_unit_test_setup(test_stop, begin),
		cmocka_unit_test_setup(test_stop_between, begin),
		cmocka_unit_test_setup(test_stop_while_it_waits, begin),
		cmocka_unit_test_setup(test_restart, begin),
		cmocka_unit_test_setup(test_foreground, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
