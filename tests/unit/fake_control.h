/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vmm/node/control.c on a node of three CPUs with four VMs, a to d, which nobody has started. What
 * it gives to a CPU is done by run().
 */
#ifndef TESTS_FAKE_CONTROL_H
#define TESTS_FAKE_CONTROL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/node/control.c"
#include "vmm/node/outcome.h"

struct spinlock monitor_lock;
struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots = 4, monitor_busy;
bool monitor_booted = true;
extern void (*const __start_monitor_services[])(void), (*const __stop_monitor_services[])(void);
static const struct hvm_ops ops;
const struct hvm_ops *hvm = &ops;
static struct vm_config config[4] = {
	{ .name = "a" }, { .name = "b" }, { .name = "c" }, { .name = "d" }
};
static unsigned held, started[8], nr_started;
static bool functions_are_there; /* those that a VM waits for */
static unsigned stopped_again; /* calls of vm_stop_again() */

bool place_owner(unsigned, char *)
{
	return false;
}
bool monitor_has_functions(struct slot *)
{
	return functions_are_there;
}
const char *vm_end_name(enum vm_end)
{
	return "poweroff";
}
bool restart_pace_forget(struct slot *)
{
	return false;
}
bool vm_end(struct vm *vm, enum vm_end why)
{
	if (vm->end != VM_RUNNING)
		return false;
	vm->end = why;
	return true;
}
void vm_stop_again(struct slot *, bool (*)(struct host_work *))
{
	stopped_again++;
}
void monitor_sum_up(char text[MONITOR_SUM])
{
	text[0] = 0;
}
void monitor_get_running(void)
{
	held++;
}
void monitor_put_running(void)
{
	held--;
}
bool output_log_last(unsigned, unsigned, void (*)(const char *))
{
	return false;
}
bool host_log_last(unsigned, unsigned, void (*)(const char *))
{
	return false;
}

void monitor_start_slot(struct slot *s)
{
	started[nr_started++] = (unsigned)(s - monitor_slots);
	s->state = OVER;
}

static int begin(void **)
{
	fake_host_reset();
	fake_host.nr_cpus = 3;
	for (unsigned i = 0; i < 3; i++)
		fake_host.cpus[i].online = true;
	memset(monitor_slots, 0, sizeof(monitor_slots));
	for (unsigned i = 0; i < 4; i++) {
		monitor_slots[i].config = &config[i];
		monitor_slots[i].state = OVER;
		outcome_forget(&monitor_slots[i]);
	}
	monitor_busy = nr_started = held = stopped_again = 0;
	functions_are_there = true;
	hvm = &ops;
	for (void (*const *service)(void) = __start_monitor_services;
	     service < __stop_monitor_services; service++)
		(*service)();
	return 0;
}

/* The work that a CPU was given is done; it is free. */
static void run(unsigned cpu)
{
	struct host_work *work = fake_host.work[cpu];

	fake_host.work[cpu] = NULL;
	assert_non_null(work);
	work->run(work);
}

#endif
