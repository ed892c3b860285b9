/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/slots/restart_limit.c */
/*
 * A VM that restarts again and again: sixteen times at once, then once in ten seconds, by an idle
 * CPU, which looks no longer than somebody waits; what the operator says meanwhile counts. The file
 * is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/node/restart_pace.c"

#define SECOND 1000000ull /* of the TSC */

static struct vm_config config = { .name = "a" };
static u64 now;
static unsigned started, running, said;
static bool no_cpu, goes;
static struct host_idle_work *idle; /* begun, and not over */

struct spinlock monitor_lock;
struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots = 2;

u64 host_tsc(void)
{
	return now;
}

u64 host_tsc_khz(void)
{
	return SECOND / 1000;
}

void host_idle_work(struct host_idle_work *work)
{
	assert_null(idle);
	idle = work;
}

void host_log(const char *, ...)
{
	said++;
}

void host_log_limited(struct log_limit *, const char *source, const char *, ...)
{
	assert_string_equal(source, "a");
	said++;
}

const char *monitor_vm_name(unsigned i)
{
	return i < monitor_nr_slots ? config.name : NULL;
}

void monitor_get_running(void)
{
	running++;
}

void monitor_put_running(void)
{
	assert_true(running);
	running--;
}

int monitor_start_waiting(unsigned i)
{
	assert_int_equal(monitor_slots[i].restart_at, 0);
	if (no_cpu) {
		monitor_slots[i].state = OVER;
		if (goes)
			monitor_slots[i].config = NULL;
		return -ENOSPC;
	}
	started++;
	return 0;
}

static int reset(void **)
{
	memset(monitor_slots, 0, sizeof(monitor_slots));
	monitor_slots[0].starts = monitor_slots[1].starts = 17;
	monitor_slots[0].config = &config;
	monitor_slots[1].config = &config;
	now = SECOND;
	started = running = said = 0;
	no_cpu = goes = looking = false;
	idle = NULL;
	return 0;
}

/* As monitor.c has it: its end, and a restart. */
static bool waits(struct slot *s)
{
	bool it_does;

	monitor_get_running();
	it_does = restart_pace_wait(s);
	assert_int_equal(it_does, s->restart_at != 0);
	if (it_does)
		restart_pace_go_on(s->config->name);
	else
		monitor_put_running();
	return it_does;
}

/* A CPU that is idle until then. */
static void idle_until(u64 when)
{
	for (; now < when; now += SECOND / 10)
		if (idle && !idle->step(idle))
			idle = NULL;
}

static void test_once_in_ten_seconds(void **)
{
	struct slot *s = &monitor_slots[0];

	for (unsigned i = 0; i < 16; i++)
		assert_false(waits(s));
	assert_true(!running && !idle && !said);
	for (unsigned i = 1; i < 50; i++) {
		u64 last = now;

		assert_true(waits(s));
		assert_true(running == 1 && idle && said == 2 * i - 1);
		idle_until(last + 9 * SECOND);
		assert_int_equal(started, i - 1);
		idle_until(last + 11 * SECOND);
		assert_int_equal(started, i);
		/* Nobody waits: the CPU is idle again, and the node may end. */
		assert_true(!running && !idle);
		now = last + 10 * SECOND;
	}
}

/* Who ends seldom never waits, and has sixteen at once again after a while. */
static void test_seldom(void **)
{
	struct slot *s = &monitor_slots[0];

	for (unsigned i = 0; i < 100; i++, now += 10 * SECOND)
		assert_false(waits(s));
	for (unsigned i = 0; i < 15; i++)
		assert_false(waits(s));
	for (now += 160 * SECOND; !waits(s);)
		started++;
	assert_int_equal(started, 16);
}

/*
 * Two at a time; one is started, or stopped, by the operator meanwhile: then it is not started a
 * second time.
 */
static void test_two(void **)
{
	struct slot *s = monitor_slots;

	for (unsigned i = 0; i < 16; i++)
		assert_true(!waits(&s[0]) && !waits(&s[1]));
	assert_true(waits(&s[0]));
	idle_until(now + 5 * SECOND);
	assert_true(waits(&s[1]));
	assert_int_equal(running, 2);
	assert_true(restart_pace_forget(&s[0]));
	assert_false(restart_pace_forget(&s[0]));
	monitor_put_running();
	idle_until(now + 4 * SECOND);
	assert_true(idle && !started);
	idle_until(now + 4 * SECOND);
	assert_true(started == 1 && !running && !idle);
}

/* Both at once: one idle CPU looks for both. */
static void test_together(void **)
{
	for (unsigned i = 0; i < 17; i++)
		assert_true(waits(&monitor_slots[0]) == waits(&monitor_slots[1]));
	assert_int_equal(running, 2);
	idle_until(now + 11 * SECOND);
	assert_true(started == 2 && !running && !idle);
}

/*
 * No CPU is free when its time has come: a line, and it waits on. If it has gone meanwhile, nobody
 * does.
 */
static void test_no_cpu(void **)
{
	for (unsigned i = 0; i < 17; i++)
		assert_int_equal(waits(&monitor_slots[0]), i == 16);
	said = 0;
	no_cpu = true;
	idle_until(now + 25 * SECOND);
	assert_true(said == 4 && running == 1 && idle && monitor_slots[0].state == WAITING);
	no_cpu = false;
	idle_until(now + 11 * SECOND);
	assert_true(started == 1 && !running && !idle);
	while (!waits(&monitor_slots[0])) {
	}
	no_cpu = goes = true;
	idle_until(now + 25 * SECOND);
	assert_true(!running && !idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_once_in_ten_seconds, reset),
		cmocka_unit_test_setup(test_seldom, reset),
		cmocka_unit_test_setup(test_two, reset),
		cmocka_unit_test_setup(test_together, reset),
		cmocka_unit_test_setup(test_no_cpu, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
