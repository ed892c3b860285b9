/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * When VMs whose PCI functions cannot be had yet are started, and when again. The file is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/node/start_functions.c"

static struct vm_config config;
static bool on; /* are all that the VM wants */
static unsigned started; /* how often */

struct spinlock monitor_lock;
struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots = 1;

bool vm_pci_has_vfs(const struct vm_config *c)
{
	assert_ptr_equal(c, &config);
	return on;
}

void vm_pci_on_free(void (*fn)(void))
{
	assert_ptr_equal(fn, start_waiting);
}

static bool resetting, own; /* one that the VM wants; that was its own */

bool vm_pci_resetting(const struct vm_config *c, bool others)
{
	assert_ptr_equal(c, &config);
	return resetting && !(others && own);
}

const char *monitor_vm_name(unsigned i)
{
	return monitor_slots[i].config->name;
}

static bool no_cpu;
static unsigned said; /* lines */

int monitor_start_waiting(unsigned i)
{
	assert_int_equal(i, 0);
	assert_int_equal(monitor_slots[0].state, WAITING);
	if (no_cpu)
		return -ENOSPC;
	monitor_slots[0].state = STARTED;
	started++;
	return 0;
}

void host_log_limited(struct log_limit *limit, const char *, const char *, ...)
{
	u32 unsaid;

	said += log_limit_take(limit, 0, 1, &unsaid);
}

void host_log(const char *, ...)
{
	fail();
}

static bool too_often;
/* who hold off the node's end; how often it was begun to wait for a time */
static unsigned running, waits;

void monitor_get_running(void)
{
	running++;
}

void monitor_put_running(void)
{
	assert_true(running--);
}

bool restart_pace_wait(struct slot *s)
{
	s->restart_at = too_often;
	return too_often;
}

void restart_pace_go_on(const char *name)
{
	assert_ptr_equal(name, config.name);
	waits++;
}

static int reset(void **)
{
	monitor_slots[0] = (struct slot){ .config = &config };
	on = resetting = own = no_cpu = too_often = false;
	started = said = running = waits = 0;
	return 0;
}

static void test_waits(void **)
{
	start_waiting();
	assert_int_equal(started, 0);
	on = true;
	/* Nor one that has restarted too often, before its time. */
	monitor_slots[0].restart_at = 1;
	start_waiting();
	assert_int_equal(started, 0);
	monitor_slots[0].restart_at = 0;
	start_waiting();
	start_waiting();
	assert_int_equal(started, 1);
}

/* They are off again before it could start. */
static void test_gone(void **)
{
	on = true;
	start_waiting();
	on = false;
	assert_true(monitor_wait_for_functions(&monitor_slots[0]));
	assert_int_equal(monitor_slots[0].state, WAITING);
	on = true;
	start_waiting();
	assert_int_equal(started, 2);
}

/* ... and on again: who has switched them on did not wait for it. */
static void test_back(void **)
{
	on = true;
	start_waiting();
	start_waiting();
	assert_int_equal(started, 1);
	assert_true(monitor_wait_for_functions(&monitor_slots[0]));
	assert_int_equal(started, 2);
	/* It is something else that its start fails by. */
	assert_false(monitor_wait_for_functions(&monitor_slots[0]));
	assert_int_equal(started, 2);
}

/* However often another guest has it start, and it finds no CPU, the log is not flooded. */
static void test_flood(void **)
{
	on = no_cpu = true;
	for (unsigned i = 0; i < 1000; i++)
		start_waiting();
	assert_int_equal(said, LOG_LIMIT_BURST);
}

/*
 * Another guest gives and takes what it wants, and each start fails: it waits for a time, too, and
 * the node does not end.
 */
static void test_fails_too_often(void **)
{
	on = true;
	start_waiting();
	on = false;
	assert_true(monitor_wait_for_functions(&monitor_slots[0]));
	assert_true(!running && !waits);
	on = too_often = true;
	start_waiting();
	assert_int_equal(started, 2);
	start_waiting();
	assert_true(monitor_wait_for_functions(&monitor_slots[0]));
	assert_true(running == 1 && waits == 1 && monitor_slots[0].state == WAITING);
	start_waiting();
	assert_int_equal(started, 2);
}

/*
 * One that is reset after a VM's end is waited for; its own one when its restart is due, but not
 * after a start that has failed.
 */
static void test_resetting(void **)
{
	on = resetting = true;
	assert_false(monitor_has_functions(&monitor_slots[0]));
	start_waiting();
	assert_int_equal(started, 0);
	resetting = false;
	start_waiting();
	assert_int_equal(started, 1);
	resetting = true;
	assert_true(monitor_wait_for_functions(&monitor_slots[0]));
	assert_int_equal(monitor_slots[0].state, WAITING);
	own = true;
	assert_false(monitor_has_functions(&monitor_slots[0]));
	assert_false(monitor_wait_for_functions(&monitor_slots[0]));
}

/*
 * It lacks memory that others' functions may write still: started when these have been reset, also
 * if that is over by now.
 */
static void test_lacks_memory(void **)
{
	struct slot *s = &monitor_slots[0];

	on = true;
	start_waiting();
	s->lacks_memory = true;
	assert_true(monitor_wait_for_functions(s));
	/* Not before: it would fail again, without end. */
	assert_true(s->state == WAITING && started == 1);
	start_waiting();
	assert_int_equal(started, 2);
	s->lacks_memory = true;
	start_waiting();
	assert_true(monitor_wait_for_functions(s));
	assert_int_equal(started, 3);
	/* The next start has failed before it asked for any. */
	assert_false(monitor_wait_for_functions(s));
	/* The operator has stopped it as it was being made. */
	s->lacks_memory = s->stopped = true;
	assert_false(monitor_wait_for_functions(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_waits, reset),
		cmocka_unit_test_setup(test_resetting, reset),
		cmocka_unit_test_setup(test_gone, reset),
		cmocka_unit_test_setup(test_flood, reset),
		cmocka_unit_test_setup(test_fails_too_often, reset),
		cmocka_unit_test_setup(test_back, reset),
		cmocka_unit_test_setup(test_lacks_memory, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
