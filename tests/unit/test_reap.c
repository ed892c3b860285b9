/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c vmm/slots/follow_up.c vmm/vm/hvm.c vmm/slots/slots.c vmm/slots/slot_stages.c vmm/vm/services.c tests/unit/fake_host_vfs.c tests/unit/fake_vfs.c */
/*
 * What follows a VM's end: whether it starts again, what its slot is then, and who is told when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_host.h"
#include "vmm/node/monitor.c"
#include "vmm/slots/start_anew.c"
#include "vmm/slots/running.c"
#include "vmm/vm/service.h"

/* Of the boot, which is not tested here. */
void monitor_check_together(void) { }

int vm_config_parse(const char *, const char *, size_t, struct vm_config *, struct config_error *,
		    void (*)(const char *))
{
	return -EINVAL;
}

static void no_service(void) { }
MONITOR_SERVICE(no_service);
static const struct hvm_ops *const no_backend __used __section("hvm_backends");

static struct vm vm;
static struct vm_config config = { .name = "a", .then = { [ENDING_REBOOT] = THEN_RESTART } };
static struct slot *const slot = &monitor_slots[0];
static unsigned destroyed, nodes_over, told_over, ends_told;
extern bool fake_vfs_off;
static bool limit_reached, no_operator, too_often;
static bool stop_it; /* as it is taken down */
static unsigned stopped; /* how often */
/* what vm_create() and vm_start() do, and whether the operator asks behind ENDED */
static bool makes, starts, vfs_go, asked;

int vm_create(const struct vm_config *, unsigned, struct vm **out)
{
	*out = &vm;
	fake_vfs_off = vfs_go;
	return makes ? 0 : -ENOMEM;
}

static const struct vm *begun; /* whose start others have just been told */

int vm_start(struct vm *)
{
	/* It may end before this returns. */
	assert_ptr_equal(begun, &vm);
	begun = NULL;
	return starts ? 0 : -EBUSY;
}

/* tests/system/test_lost_cpu.py's. */
void vm_abandon(struct vm *)
{
	fail();
}

void vm_destroy(struct vm *)
{
	destroyed++;
	slot->stopped = stop_it;
}

bool vm_end(struct vm *, enum vm_end why)
{
	assert_int_equal(why, VM_END_STOPPED);
	stopped++;
	return true;
}

const char *vm_end_name(enum vm_end why)
{
	if (why == VM_END_RESET_ACPI)
		return "reset-acpi";
	return why == VM_END_ANEW ? "anew" : "poweroff";
}

bool vm_may_restart(struct restarts *, const struct vm_config *)
{
	return !limit_reached;
}

bool restart_pace_wait(struct slot *s)
{
	s->restart_at = too_often;
	return too_often;
}

/* Without the lock. */
void restart_pace_go_on(const char *name)
{
	assert_string_equal(name, "a");
	spin_lock(&monitor_lock);
	spin_unlock(&monitor_lock);
	host_log("a: waits");
}

static const char *outcome; /* the last that was recorded, while the VM is not over yet */

static void outcome_ended(const struct slot *s, const char *)
{
	assert_true(s == slot && s->state != OVER && s->last_end != VM_RUNNING);
	outcome = vm_end_name(s->last_end);
}

/* Behind what was logged of it, before all that is logged of the VM. */
static void outcome_not_started(const struct slot *s, const char *why)
{
	assert_true(s == slot && s->state != OVER && !why && !strstr(fake_host.log, "not started"));
	outcome = "not-started";
}

static void outcome_started(const struct slot *s, const char *)
{
	begun = s->vm;
}

/* Behind the line of the end, and while the VM is there. */
static void end_told(const struct slot *s, const char *)
{
	assert_true(s == slot && s->vm == &vm && !destroyed && strstr(fake_host.log, ": end="));
	ends_told++;
}

/* Behind all else. */
static void all_done(const struct slot *s, const char *)
{
	assert_true(s == slot && (monitor_idle() || s->state == STARTED || s->restart_at) &&
		    monitor_busy == 1);
	told_over += s->state == OVER;
}

static const struct slot_stage outcome_stage = {
	.at = SLOT_OUTCOME,
	.on = { [SLOT_STARTS] = outcome_started,
		[SLOT_NOT_STARTED] = outcome_not_started,
		[SLOT_ENDED] = outcome_ended,
		[SLOT_TOLD] = end_told,
		[SLOT_DONE] = all_done },
};
SLOT_STAGE(outcome_stage);

void monitor_node_over(void)
{
	nodes_over++;
}

bool monitor_has_operator(void)
{
	return !no_operator;
}

bool monitor_asked_again(struct slot *)
{
	bool was = asked;

	asked = false;
	return was;
}

int monitor_vm_start(unsigned i)
{
	assert_int_equal(monitor_slots[i].state, OVER);
	if (!starts)
		return -ENOSPC;
	monitor_slots[i].state = STARTED;
	return 0;
}

/* Behind all that may lend CPUs. */
void monitor_not_busy(void)
{
	assert_true(monitor_busy-- && slot->state != ENDING && slot->state != ENDED);
}

/* It ends so. What the log says. */
static const char *ends(enum vm_end why)
{
	fake_host_reset();
	vm = (struct vm){ .id = 3, .end = why };
	*slot = (struct slot){ .config = &config, .vm = &vm, .state = STARTED, .starts = 1 };
	monitor_nr_slots = 1;
	destroyed = nodes_over = told_over = ends_told = 0;
	monitor_get_running();
	reap(&slot->reaper);
	assert_true(monitor_idle() || slot->state == STARTED || slot->restart_at);
	assert_int_equal(monitor_busy, 1);
	/* Who runs, or waits to restart, holds off the node's end, once. */
	if ((slot->state == STARTED && slot->vm) || slot->restart_at) {
		assert_int_equal(nr_running, 1);
		nr_running = 0;
	}
	return fake_host.log;
}

static void test_over(void **)
{
	assert_string_equal(ends(VM_END_POWEROFF), "a: end=poweroff\n");
	assert_string_equal(outcome, "poweroff");
	assert_int_equal(slot->state, OVER);
	assert_true(ends_told == 1 && told_over == 1);
	assert_true(destroyed == 1 && nodes_over == 1 && !slot->vm);
}

static void test_restarts(void **)
{
	makes = starts = asked = true;
	assert_string_equal(ends(VM_END_RESET_ACPI), "a: end=reset-acpi\na: restart 1\n");
	assert_true(slot->state == STARTED && slot->vm == &vm && slot->starts == 2 && !nodes_over &&
		    !told_over);
	assert_true(asked); /* that is for the end to come */
	asked = false;
}

/*
 * A Linux that turned out to be no guest of KVM's starts once more, whatever limit there is; the
 * modules are kept for that.
 */
static void test_anew(void **)
{
	limit_reached = makes = starts = true;
	assert_string_equal(ends(VM_END_RESET_ACPI), "a: end=reset-acpi\n");
	assert_string_equal(ends(VM_END_ANEW), "a: end=anew\na: restart 1\n");
	assert_true(slot->state == STARTED && slot->vm == &vm && !nodes_over);
	limit_reached = false;
	no_operator = true;
	hvm = (const struct hvm_ops *)&vm;
	config.then[ENDING_REBOOT] = THEN_STOP;
	assert_false(modules_needed());
	vm.is_linux = true;
	assert_true(modules_needed());
	slot->vm = NULL;
	assert_false(modules_needed());
	slot->without = LINUX_NO_CLOCK;
	assert_true(modules_needed());
	config.then[ENDING_REBOOT] = THEN_RESTART;
	hvm = NULL;
	no_operator = false;
}

/* While its virtual functions are off it waits for them, as at boot. */
static void test_restart_waits(void **)
{
	makes = starts = fake_vfs_off = true;
	assert_string_equal(ends(VM_END_RESET_ACPI), "a: end=reset-acpi\n");
	fake_vfs_off = false;
	assert_true(slot->state == WAITING && !slot->vm && slot->starts == 1 && !told_over);
	/* They go as it is being made. */
	vfs_go = true;
	makes = false;
	assert_string_equal(ends(VM_END_RESET_ACPI),
			    "a: end=reset-acpi\na: restart 1\na: not started\n");
	assert_true(slot->state == WAITING && !slot->vm && !told_over);
	vfs_go = fake_vfs_off = false;
}

/*
 * It has done so too often: it waits, and nothing starts it before its time. A start anew does not
 * count.
 */
static void test_restart_is_paced(void **)
{
	makes = starts = too_often = true;
	assert_string_equal(ends(VM_END_RESET_ACPI), "a: end=reset-acpi\na: waits\n");
	assert_true(slot->state == WAITING && !slot->vm && slot->starts == 1 && !nodes_over &&
		    !told_over);
	start_ready();
	assert_int_equal(slot->state, WAITING);
	assert_string_equal(ends(VM_END_ANEW), "a: end=anew\na: restart 1\n");
	assert_string_equal(ends(VM_END_POWEROFF), "a: end=poweroff\n");
	assert_true(slot->state == OVER && nodes_over == 1);
	/* The operator has said how many there may be. */
	config.restart_limit = 5;
	assert_string_equal(ends(VM_END_RESET_ACPI), "a: end=reset-acpi\na: restart 1\n");
	config.restart_limit = 0;
	/* The operator has stopped it while it was taken down: it ends as it starts, at once. */
	stop_it = true;
	assert_string_equal(ends(VM_END_RESET_ACPI), "a: end=reset-acpi\na: restart 1\n");
	assert_int_equal(stopped, 1);
	stop_it = too_often = false;
}

/* The operator learns how to go on also when what failed was its restart. */
static void test_restart_fails(void **)
{
	for (unsigned i = 0; i < 2; i++) {
		makes = i;
		starts = false;
		assert_string_equal(ends(VM_END_RESET_ACPI),
				    "a: end=reset-acpi\na: restart 1\na: not started\n");
		assert_int_equal(slot->state, OVER);
		assert_string_equal(outcome, "not-started");
		assert_int_equal(told_over, 1);
		assert_int_equal(nodes_over, 1);
	}
}

/* Between ENDED and OVER the operator has asked for it. */
static void test_asked(void **)
{
	for (starts = false;; starts = true) {
		asked = true;
		ends(VM_END_POWEROFF);
		assert_int_equal(slot->state, starts ? STARTED : OVER);
		assert_int_equal(told_over, !starts);
		assert_int_equal(strstr(fake_host.log, "a: not started\n") != NULL, !starts);
		if (starts)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_anew),
		cmocka_unit_test(test_restart_waits),
		cmocka_unit_test(test_restart_is_paced),
		cmocka_unit_test(test_restart_fails),
		cmocka_unit_test(test_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
