/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/* Who zeroes which memory: on nodes of two times 128 CPUs, of which a VM has some or all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include <margay/mc_access.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/percpu.h"

#define ALL 256
#define NODE_1 GIB(64) /* its memory begins there */

static struct cpu cpus[ALL], *running = &cpus[0];
static struct {
	unsigned cpu;
	struct host_work *work;
} queue[ALL];
static unsigned nr_queued, nr_assigned, assigned_on[2];
/* bytes: of each node; by CPUs of the other one; by the caller when all others had ended */
static u64 zeroed[2], far, late;
static unsigned owned;           /* CPUs below this are a VM's */
static u16 list[ALL];
static bool looping[ALL];

static u64 lost_page; /* 0: none */
static bool unknown;  /* nobody knows of it before it is met */

static bool model_zero(void *va, u64 size)
{
	u64 at = (u64)va - DIRECT_MAP_BASE;
	unsigned node = at >= NODE_1;
	bool met = lost_page && lost_page >= at && lost_page < at + size;

	assert_true(!met || unknown);
	size = met ? lost_page - at : size;
	zeroed[node] += size;
	far += running->node == (int)node ? 0 : size;
	late += running == &cpus[0] && nr_assigned && !nr_queued ? size : 0;
	return !met;
}

int host_cpu_assign(unsigned cpu, struct host_work *work)
{
	assert_true(nr_queued < ALL && cpu);
	for (unsigned i = 0; i < nr_queued; i++)
		assert_int_not_equal(queue[i].cpu, cpu);
	queue[nr_queued].cpu = cpu;
	queue[nr_queued++].work = work;
	assigned_on[cpus[cpu].node]++;
	nr_assigned++;
	return 0;
}

/* The caller lets the others run, the last one first. */
void host_interrupt_window(void)
{
	struct cpu *before = running;

	if (running != &cpus[0] || !nr_queued)
		return;
	running = &cpus[queue[nr_queued - 1].cpu];
	queue[nr_queued - 1].work->run(queue[nr_queued - 1].work);
	nr_queued--;
	running = before;
}

struct cpu *cpu_get(unsigned id)
{
	return id < ALL ? &cpus[id] : NULL;
}

unsigned host_cpu_count(void)
{
	return ALL;
}

u64 host_tsc_khz(void)
{
	return 1000000;
}

u64 host_memory_lost_in(u64 from, u64 to)
{
	return !unknown && lost_page >= from && lost_page < to ? lost_page : to;
}

u64 host_failed_page(void)
{
	return lost_page;
}

/* of unowned(), in the lent CPUs: then they are a VM's */
static unsigned wanted_after, wanted_calls;

static bool unowned(unsigned cpu)
{
	if (wanted_after && running != &cpus[0] && ++wanted_calls > wanted_after)
		return false;
	return cpu >= owned;
}

#define this_cpu() running
#define mc_zero(p, n) model_zero(p, n)
#include "kernel/work/zero_parallel.c"
#undef mc_zero

static struct host_extent extent[] = {
	{ .base = { GIB(1) }, .size = GIB(8), .node = 0 },
	{ .base = { NODE_1 }, .size = GIB(8), .node = 1 },
};

/* A VM of the first n CPUs with 8 GiB on each node. */
static void zero(unsigned n)
{
	assigned_on[0] = assigned_on[1] = 0;
	zeroed[0] = zeroed[1] = far = late = 0;
	nr_queued = nr_assigned = 0;
	owned = n;
	for (unsigned i = 0; i < ALL; i++) {
		cpus[i].id = i;
		cpus[i].node = i >= ALL / 2;
		cpus[i].looping = looping[i];
		list[i] = (u16)i;
	}
	zero_parallel(extent, ARRAY_SIZE(extent), list, n, unowned);
	assert_int_equal(nr_queued, 0);
	for (unsigned i = 0; i < 2; i++) {
		u64 lost = lost_page && !i ? PAGE_SIZE : 0;

		assert_int_equal(zeroed[i], extent[i].zero ? 0 : GIB(8) - lost);
	}
}

/* A VM of all CPUs: each takes part. */
static void test_all_its_own(void **)
{
	zero(ALL);
	assert_int_equal(nr_assigned, ALL - 1);
	assert_int_equal(far, 0);
}

/* All idle ones of both nodes, beside its own. */
static void test_borrows(void **)
{
	zero(4);
	assert_int_equal(nr_assigned, ALL - 1);
	assert_int_equal(assigned_on[1], ALL / 2);
	assert_int_equal(far, 0);
	assert_int_equal(late, 0);
}

/* What is zero is not stored again, and nobody is disturbed for it. */
static void test_zero_already(void **)
{
	extent[0].zero = true;
	zero(4);
	assert_int_equal(assigned_on[0], 3);
	assert_int_equal(assigned_on[1], ALL / 2);
	extent[1].zero = true;
	zero(4);
	assert_int_equal(assigned_on[1], 0);
	extent[0].zero = extent[1].zero = false;
	zero(4);
}

/* A CPU that is wanted leaves after a step. */
static void test_wanted(void **)
{
	wanted_after = 100;
	zero(4);
	/*
	 * Those of node 1, each at its first look after the hundredth: the VM's own have done node
	 * 0 before.
	 */
	assert_int_equal(wanted_calls, 100 + ALL / 2);
	wanted_after = 0;
}

/* Without another node's CPUs it is zeroed from here. */
static void test_none_left_to_borrow(void **)
{
	unsigned borrowed = ALL / 2;

	zero(borrowed);
	assert_int_equal(far, 0);
	/* Those of node 1 are not in their loop yet. */
	for (unsigned i = 0; i < ALL; i++)
		looping[i] = i < borrowed;
	zero(borrowed);
	assert_int_equal(nr_assigned, borrowed - 1);
	assert_int_equal(far, GIB(8));
	assert_int_equal(late, 0);
	looping[ALL - 1] = true;
	zero(borrowed);
	assert_int_equal(nr_assigned, borrowed);
	assert_int_equal(far, 0);
	memset(looping, true, sizeof(looping));
}

/*
 * Neither written nor read: at the begin and the end of a step, and between. Nor twice, where it is
 * met by that.
 */
static void test_lost(void **)
{
	static const u64 lost[] = { GIB(1), GIB(1) + STEP - PAGE_SIZE, GIB(2) + 5 * PAGE_SIZE,
				    GIB(9) - PAGE_SIZE };

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(lost); i++) {
		lost_page = lost[i / 2];
		unknown = i % 2;
		zero(4);
	}
	lost_page = 0;
	unknown = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_its_own),         cmocka_unit_test(test_borrows),
		cmocka_unit_test(test_none_left_to_borrow), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_zero_already),        cmocka_unit_test(test_wanted),
	};

	memset(looping, true, sizeof(looping));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
