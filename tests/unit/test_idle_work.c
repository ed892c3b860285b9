/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Work that CPUs do while they have nothing else: by one at a time, and by whom it goes on. The
 * file is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/percpu.h"

static struct cpu cpus[3], *here = &cpus[0];
#define this_cpu() here

#include "kernel/work/idle_work.c"

/* bits by CPU; of two works: how often, and which step is the last */
static unsigned kicked, windows, steps[2], last[2];

unsigned host_cpu_count(void)
{
	return 3;
}

struct cpu *cpu_get(unsigned id)
{
	return &cpus[id];
}

void host_cpu_kick(unsigned id)
{
	kicked |= BIT(id);
}

void host_interrupt_window(void)
{
	windows++;
}

static bool step_0(struct host_idle_work *)
{
	struct cpu *was = here;

	/* Another idle CPU finds nothing to do meanwhile. */
	here = &cpus[1];
	assert_false(idle_work());
	here = was;
	return ++steps[0] != last[0];
}

static bool step_1(struct host_idle_work *w)
{
	bool more = ++steps[1] != last[1];

	/* Its record is another's now. */
	if (!more)
		memset(w, 0xee, sizeof(*w));
	return more;
}

static struct host_idle_work first = { .step = step_0 }, second;

static void test_steps(void **)
{
	last[0] = 5;
	last[1] = 2;
	second.step = step_1;
	assert_false(idle_work());
	host_idle_work(&first);
	host_idle_work(&second);
	for (unsigned i = 1; i <= 5; i++) {
		assert_true(idle_work());
		assert_int_equal(steps[0], i);
		assert_int_equal(steps[1], i < 2 ? i : 2);
	}
	assert_false(idle_work());
	assert_int_equal(windows, 5);
}

/*
 * A CPU that gets work passes it on to one that has none, and is past its boot and not given up;
 * else nobody is disturbed.
 */
static void test_passed_on(void **)
{
	static struct host_work busy;

	kicked = 0;
	cpus[1].looping = true;
	cpus[1].work = &busy;
	cpus[2].looping = false;
	idle_work_pass_on();
	host_idle_work(&first);
	assert_int_equal(kicked, 0);
	cpus[2].looping = true;
	idle_work_pass_on();
	assert_int_equal(kicked, 0);
	cpus[2].online = true;
	idle_work_pass_on();
	assert_int_equal(kicked, BIT(2));
	/* Not to itself. */
	kicked = 0;
	here = &cpus[2];
	idle_work_pass_on();
	here = &cpus[0];
	assert_int_equal(kicked, 0);
	last[0] = steps[0] + 1;
	assert_true(idle_work());
	idle_work_pass_on();
	assert_int_equal(kicked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_steps),
					    cmocka_unit_test(test_passed_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
