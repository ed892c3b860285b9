/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/* How long a VM's end waits for its vCPUs, and for which it does not. The file is included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_events.h"
#include "tests/unit/fake_stage.h"
#include "vmm/node/lost_cpus.c"

static struct vm vm;
static struct vcpu vcpus[2], *by_id[] = { &vcpus[0], &vcpus[1] };
static struct host_cpu_info info = { .online = true };
/* seconds: the clock; when the second vCPU begins, and leaves at once; 0: never */
static u64 now, left_at;
static unsigned lost, ended; /* bit by CPU; how often */

struct spinlock monitor_lock;

u64 host_tsc(void)
{
	return now * 1000000;
}

u64 host_tsc_khz(void)
{
	return 1000;
}

void host_interrupt_window(void)
{
	assert_true(++now < 10000);
	if (now == left_at) {
		vcpus[1].live = false;
		vm.live_vcpus -= 1 + VM_VCPU_BEHIND;
	}
}

const struct host_cpu_info *host_cpu_info(unsigned)
{
	return &info;
}

void host_cpu_lost(unsigned cpu)
{
	lost |= BIT(cpu);
}

void monitor_vm_ended(struct vm *which)
{
	assert_ptr_equal(which, &vm);
	ended++;
}

void host_log_limited(struct log_limit *, const char *, const char *, ...) { }

void host_log(const char *, ...) { }

bool vm_end(struct vm *, enum vm_end)
{
	fail();
	return false;
}

static unsigned removed; /* consoles */

void host_console_remove(struct host_console *con)
{
	assert_ptr_equal(con, vm.console);
	removed++;
}

static int reset(void **)
{
	vm = (struct vm){ .nr_vcpus = 2, .vcpus = by_id, .live_vcpus = 2, .end = VM_END_STOPPED };
	for (unsigned i = 0; i < 2; i++)
		vcpus[i] = (struct vcpu){ .vm = &vm, .id = i, .cpu = i, .live = true };
	now = 1;
	left_at = 0;
	lost = ended = 0;
	return 0;
}

/* One that has begun and does not answer costs its CPU. */
static void test_deaf(void **)
{
	vcpu_leave(&vcpus[0]);
	assert_true(vm.abandoned && lost == BIT(1) && ended == 1);
	assert_in_range(now, VM_ANSWER_SECONDS, VM_ANSWER_SECONDS + 5);
	assert_string_equal(event_told, "0 cpu-lost CPU 1, of vcpu1");
}

/* One whose CPU still zeroes another VM's memory has not been asked, however long that takes. */
static void test_not_begun(void **)
{
	vm.live_vcpus += VM_VCPU_BEHIND;
	left_at = 50 * VM_ANSWER_SECONDS;
	vcpu_leave(&vcpus[0]);
	assert_true(!vm.abandoned && !lost && ended == 1 && now == left_at && !vm.live_vcpus);
}

/* The line goes on without it. Its PCI functions: test_pci_root.c; its other CPUs: test_place.c. */
static void test_console(void **)
{
	static struct host_console console;

	fake_abandon(ABANDON_CONSOLE, &vm);
	assert_int_equal(removed, 0);
	vm.console = &console;
	fake_abandon(ABANDON_CONSOLE, &vm);
	assert_int_equal(removed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_deaf, reset),
		cmocka_unit_test_setup(test_not_begun, reset),
		cmocka_unit_test_setup(test_console, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
