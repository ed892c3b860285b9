/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * A CPU has a work item and one behind that; what happens when one ends just as another comes. The
 * file is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/percpu.h"

static struct cpu cpus[2], *running;
static unsigned nmis;
static struct host_work first, second, third, looped;

struct cpu_features cpu_features;

struct cpu *cpu_get(unsigned id)
{
	return id < 2 ? &cpus[id] : NULL;
}

void apic_send_nmi(u32 dest)
{
	assert_int_equal(dest, 1);
	nmis++;
}

/* ---- of host_cpu_wait() and the loop, which no test here enters ---- */

u64 host_tsc_khz(void)
{
	return 1;
}

const struct cmdline *cmdline_of_boot(void)
{
	return NULL;
}

void nmi_look(void) { }

void mce_look(void) { }

void timer_run_due(void) { }

void idle_hlt(const u32 *) { }

void idle_nmi(const u32 *) { }

void idle_mwait(const u32 *, u32) { }

static unsigned idle_steps, passed_on;
static jmp_buf out;

/* In the third step the CPU is given an item. */
bool idle_work(void)
{
	if (++idle_steps == 3)
		cpus[0].work = &looped;
	return true;
}

void idle_work_pass_on(void)
{
	passed_on++;
}

static unsigned draws;

bool console_polled;

void console_poll_now(void) { }

void console_idle(void) { }

bool screen_idle_draw(void)
{
	draws++;
	return false;
}

void screen_idle_ends(void) { }

#define this_cpu() running
#include "kernel/cpu/kick.c"
#include "kernel/work/work.c"

static int reset(void **)
{
	memset(cpus, 0, sizeof(cpus));
	cpus[1].id = cpus[1].apic_id = 1;
	cpus[0].online = cpus[1].online = true;
	running = &cpus[0];
	nmis = 0;
	return 0;
}

/* An idle CPU takes either at once; one that is busy takes one behind, and no more. */
static void test_behind(void **)
{
	assert_int_equal(host_cpu_assign_behind(1, &first), 0);
	assert_true(cpus[1].work == &first && !cpu_own(&cpus[1], next_work) && nmis == 1);
	assert_int_equal(host_cpu_assign(1, &second), -EBUSY);
	assert_int_equal(host_cpu_assign_behind(1, &second), 0);
	assert_true(cpus[1].work == &first && cpu_own(&cpus[1], next_work) == &second &&
		    cpus[1].kick);
	assert_int_equal(host_cpu_assign_behind(1, &third), -EBUSY);
	assert_true(move_on(&cpus[1], &first) && cpus[1].work == &second &&
		    !cpu_own(&cpus[1], next_work));
	assert_int_equal(host_cpu_assign_behind(1, &third), 0);
	assert_true(move_on(&cpus[1], &second) && cpus[1].work == &third);
	assert_false(move_on(&cpus[1], &third));
	assert_true(!cpus[1].work && !cpu_own(&cpus[1], next_work));
	assert_int_equal(host_cpu_assign_behind(2, &first), -ENODEV);
	cpus[1].online = false;
	assert_int_equal(host_cpu_assign_behind(1, &first), -ENODEV);
}

/*
 * The item ends between the look at it and what is put behind: the CPU is woken, and finds that
 * without having an item.
 */
static void test_ends_meanwhile(void **)
{
	cpus[1].work = &first;
	cpu_own(&cpus[1], next_work) = NULL;
	assert_int_equal(host_cpu_assign_behind(1, &second), 0);
	assert_true(nmis == 1 && cpus[1].kick);
	cpus[1].work = NULL; /* as if move_on() had looked just before */
	assert_true(move_on(&cpus[1], NULL));
	assert_true(cpus[1].work == &second && !cpu_own(&cpus[1], next_work));
}

/* An idle CPU that has something behind, and is given another item first: that one runs first. */
static void test_given_meanwhile(void **)
{
	cpu_own(&cpus[1], next_work) = &second;
	assert_int_equal(host_cpu_assign(1, &first), 0);
	assert_true(move_on(&cpus[1], NULL));
	assert_true(cpus[1].work == &first && cpu_own(&cpus[1], next_work) == &second);
	assert_true(move_on(&cpus[1], &first) && cpus[1].work == &second);
}

/* A running item names its successor, unless there is one. */
static void test_successor(void **)
{
	running = &cpus[1];
	cpus[1].work = &first;
	cpus[1].working = true;
	assert_int_equal(host_cpu_assign(1, &second), 0);
	assert_true(cpus[1].work == &first && cpu_own(&cpus[1], next_work) == &second);
	assert_int_equal(host_cpu_assign(1, &third), -EBUSY);
	/* The boot code is no item: it waits for its own CPU's turn. */
	reset(NULL);
	running = &cpus[1];
	assert_int_equal(host_cpu_assign(1, &first), 0);
	assert_true(cpus[1].work == &first && !cpu_own(&cpus[1], next_work));
}

static void leave(struct host_work *)
{
	longjmp(out, 1);
}

/*
 * A CPU without an item does what idle ones do, step by step; as soon as it has one it passes that
 * on.
 */
static void test_idle(void **)
{
	looped.run = leave;
	if (!setjmp(out))
		work_loop();
	assert_true(idle_steps == 3 && draws == 3 && passed_on == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_behind, reset),
		cmocka_unit_test_setup(test_ends_meanwhile, reset),
		cmocka_unit_test_setup(test_given_meanwhile, reset),
		cmocka_unit_test_setup(test_successor, reset),
		cmocka_unit_test_setup(test_idle, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
