/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/slots/slots.c vmm/slots/follow_up.c */
/* What the node's last line says of VM files: each is counted once, by what became of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "vmm/slots/node_over.c"

const struct hvm_ops *hvm;
static const struct hvm_ops backend;
static struct vm_config config;
static char line[100];
static jmp_buf node_is_off;

void host_node_reboot(void)
{
	snprintf(line, sizeof(line), "reboot");
	longjmp(node_is_off, 1);
}

void host_node_poweroff(const char *vms)
{
	snprintf(line, sizeof(line), "poweroff %s", vms);
	longjmp(node_is_off, 1);
}

void host_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

static int begin(void **)
{
	memset(monitor_slots, 0, sizeof(monitor_slots));
	monitor_nr_slots = 0;
	config = (struct vm_config){ 0 };
	hvm = &backend;
	line[0] = 0;
	return 0;
}

static struct slot *add(enum slot_state state, enum vm_end end)
{
	struct slot *s = &monitor_slots[monitor_nr_slots++];

	*s = (struct slot){ .file = "f", .config = &config, .state = state, .last_end = end };
	s->starts = end != VM_RUNNING;
	return s;
}

static void says(const char *expected)
{
	char text[MONITOR_SUM];

	monitor_sum_up(text);
	assert_string_equal(text, expected);
}

static void test_ends(void **)
{
	says("vms=0 failed=0");
	add(OVER, VM_END_POWEROFF);
	add(OVER, VM_END_RESET_ACPI);
	add(OVER, VM_END_STOPPED);
	add(OVER, VM_END_EXIT);
	says("vms=4 failed=0");
	add(OVER, VM_END_CRASH);
	add(ENDED, VM_END_WATCHDOG);
	add(OVER, VM_END_EXIT)->last_status = 1;
	says("vms=7 failed=3");
}

/* A file that was not understood has no configuration; one that is destroyed has no name, too. */
static void test_no_vm(void **)
{
	add(OVER, VM_RUNNING)->config = NULL;
	says("vms=1 failed=1");
	add(OVER, VM_END_CRASH)->config = NULL;
	monitor_slots[1].file[0] = 0;
	says("vms=1 failed=1");
}

/* It runs still, however it ended before. */
static void test_running(void **)
{
	add(STARTED, VM_RUNNING);
	add(STARTED, VM_END_CRASH);
	add(OVER, VM_END_POWEROFF);
	says("vms=3 failed=0 running=2");
}

/* Nobody has told it to start, or nothing can run it, which is a failure. */
static void test_unstarted(void **)
{
	add(WAITING, VM_RUNNING);
	says("vms=1 failed=0 unstarted=1");
	add(STARTED, VM_RUNNING);
	says("vms=2 failed=0 running=1 unstarted=1");
	begin(NULL);
	hvm = NULL;
	add(WAITING, VM_RUNNING);
	says("vms=1 failed=1");
	add(OVER, VM_RUNNING);
	says("vms=2 failed=1 unstarted=1");
}

static void over(const char *expected)
{
	line[0] = 0;
	if (!setjmp(node_is_off))
		monitor_node_over();
	assert_string_equal(line, expected);
}

/* What the last end of a VM that ran asks of the node; one that was stopped asks for nothing. */
static void test_node(void **)
{
	add(OVER, VM_END_POWEROFF);
	over("margay: node: end=idle vms=1 failed=0");
	config.then[ENDING_POWEROFF] = THEN_POWEROFF_NODE;
	over("poweroff vms=1 failed=0");
	config.then[ENDING_POWEROFF] = THEN_REBOOT_NODE;
	over("reboot");
	monitor_slots[0].last_end = VM_END_STOPPED;
	over("margay: node: end=idle vms=1 failed=0");
	monitor_slots[0] = (struct slot){ .file = "f", .config = &config };
	config.then[ENDING_CRASH] = THEN_POWEROFF_NODE;
	over("margay: node: end=idle vms=1 failed=0 unstarted=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ends, begin),
		cmocka_unit_test_setup(test_no_vm, begin),
		cmocka_unit_test_setup(test_running, begin),
		cmocka_unit_test_setup(test_unstarted, begin),
		cmocka_unit_test_setup(test_node, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
