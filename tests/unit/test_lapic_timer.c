/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/lapic.sources @tests/unit/fake_vm.sources */
/*
 * The local APIC's timer (SDM vol. 3, 11.5.4), over the fake host's clock: the test plays the
 * guest.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/lapic_guest.h"
#include "vmm/vm/intc.h"

#define KHZ 2000000ull /* fake_host's TSC */
#define TICK (KHZ * 1000 / LAPIC_TIMER_HZ) /* TSC cycles of one undivided timer count */

static void test_timer_one_shot(void **)
{
	enable();
	wr(0x3e0, 3); /* divide by 16 */
	wr(0x320, 0x40);
	wr(0x380, 100);
	assert_int_equal(rd(0x390), 100);
	fake_host_advance(16 * TICK * 40);
	assert_int_equal(rd(0x390), 60);
	fake_host_advance(16 * TICK * 100 - 1);
	assert_int_equal(pending(), -1);
	fake_host_advance(16 * TICK * 100);
	assert_int_equal(pending(), 0x40);
	assert_int_equal(rd(0x390), 0);
	assert_int_equal(rd(0x380), 100);
	assert_null(fake_host.timers);
	/* Zero stops. */
	wr(0x380, 5);
	wr(0x380, 0);
	assert_null(fake_host.timers);
	assert_int_equal(rd(0x390), 0);
}

static void test_timer_dividers(void **)
{
	static const struct {
		u32 reg;
		u32 by;
	} divider[] = {
		{ 0, 2 },  { 1, 4 },  { 2, 8 },    { 3, 16 },
		{ 8, 32 }, { 9, 64 }, { 10, 128 }, { 11, 1 },
	};

	enable();
	wr(0x320, 0x10000);
	for (unsigned i = 0; i < ARRAY_SIZE(divider); i++) {
		u64 start = fake_host.tsc;

		wr(0x3e0, divider[i].reg);
		assert_int_equal(rd(0x3e0), divider[i].reg);
		wr(0x380, 1000);
		fake_host_advance(start + 250 * divider[i].by * TICK);
		assert_int_equal(rd(0x390), 750);
	}
	assert_int_equal(pending(), -1);
	/* The longest count does not overflow. */
	wr(0x3e0, 10);
	wr(0x380, 0xffffffff);
	assert_int_equal(rd(0x390), 0xffffffff);
	assert_int_equal(fake_host.timers->deadline, fake_host.tsc + 0xffffffffull * 128 * TICK);
	/* A new divider keeps the count. */
	wr(0x380, 1000);
	wr(0x3e0, 11);
	assert_int_equal(rd(0x390), 1000);
	assert_int_equal(fake_host.timers->deadline, fake_host.tsc + 1000 * TICK);
}

/*
 * A divider written after the count has run out and before its host timer was taken: the interrupt
 * still comes.
 */
static void test_timer_divider_late(void **)
{
	enable();
	wr(0x3e0, 11);
	wr(0x320, 0x40);
	wr(0x380, 1000);
	fake_host.tsc += 1001 * TICK;
	wr(0x3e0, 3);
	assert_int_equal(rd(0x390), 0);
	assert_int_equal(pending(), -1);
	fake_host_advance(fake_host.tsc);
	assert_int_equal(pending(), 0x40);
	assert_null(fake_host.timers);
}

static void test_timer_periodic(void **)
{
	unsigned fired = 0;

	enable();
	wr(0x3e0, 11);
	wr(0x320, 0x20040);
	wr(0x380, 1000);
	for (unsigned i = 1; i <= 5; i++) {
		fake_host_advance(i * 1000 * TICK);
		assert_int_equal(pending(), 0x40);
		vm->intc->accept(vcpu, 0x40);
		wr(0xb0, 0);
		fired++;
	}
	assert_int_equal(fired, 5);
	/* Ten periods late: one interrupt, and the next one is on the old grid. */
	fake_host.tsc = 15 * 1000 * TICK + 300 * TICK;
	assert_int_equal(rd(0x390), 700);
	fake_host_window();
	assert_int_equal(pending(), 0x40);
	vm->intc->accept(vcpu, 0x40);
	wr(0xb0, 0);
	assert_int_equal(pending(), -1);
	assert_int_equal(fake_host.timers->deadline, 16 * 1000 * TICK);
	wr(0x380, 0);
	assert_null(fake_host.timers);
}

/*
 * A vCPU that is stopped for random times: each window brings one tick at most, never early, and
 * the grid stays.
 */
static void test_timer_periodic_stopped(void **)
{
	const u64 period = 1000 * TICK;
	u64 last = 0;

	srand(1);
	enable();
	wr(0x3e0, 11);
	wr(0x320, 0x20040);
	wr(0x380, 1000);
	for (unsigned i = 0; i < 10000; i++) {
		bool due;

		fake_host.tsc += (u64)rand() % (i % 3 ? period / 4 : 5 * period);
		due = fake_host.tsc / period > last;
		fake_host_window();
		assert_int_equal(pending(), due ? 0x40 : -1);
		if (due) {
			vm->intc->accept(vcpu, 0x40);
			wr(0xb0, 0);
			last = fake_host.tsc / period;
		}
		assert_int_equal(pending(), -1);
		assert_int_equal(fake_host.timers->deadline, (last + 1) * period);
	}
	wr(0x380, 0);
}

static void test_timer_tiny_period(void **)
{
	u64 start;

	enable();
	wr(0x3e0, 11);
	wr(0x320, 0x30);
	wr(0x380, 1);
	wr(0x320, 0x20030); /* to periodic while it runs */
	start = fake_host.tsc = 10 * KHZ;
	fake_host_window();
	assert_true(fake_host.timers->deadline > start);
	start = fake_host.timers->deadline;
	fake_host_advance(start);
	assert_true(fake_host.timers->deadline - start >= KHZ * 20 / 1000);
	wr(0x320, 0x10000);
	wr(0x380, 0);
}

static void test_timer_deadline(void **)
{
	u64 value;

	enable();
	vm->tsc_offset = -500;
	fake_host.tsc = 1000;
	/* Ignored outside deadline mode. */
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, 10000), 0);
	assert_int_equal(guest_rdmsr(vm, MSR_TSC_DEADLINE, &value), 0);
	assert_int_equal(value, 0);
	assert_null(fake_host.timers);
	wr(0x320, 0x40040);
	wr(0x380, 77); /* and the count register in it */
	assert_int_equal(rd(0x380), 0);
	assert_null(fake_host.timers);
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, 10000), 0);
	assert_int_equal(guest_rdmsr(vm, MSR_TSC_DEADLINE, &value), 0);
	assert_int_equal(value, 10000);
	assert_int_equal(fake_host.timers->deadline, 10500);
	fake_host_advance(10499);
	assert_int_equal(pending(), -1);
	fake_host_advance(10500);
	assert_int_equal(pending(), 0x40);
	assert_int_equal(guest_rdmsr(vm, MSR_TSC_DEADLINE, &value), 0);
	assert_int_equal(value, 0);
	vm->intc->accept(vcpu, 0x40);
	wr(0xb0, 0);
	/* In the past: at once. */
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, 1), 0);
	assert_int_equal(pending(), 0x40);
	assert_null(fake_host.timers);
	vm->intc->accept(vcpu, 0x40);
	wr(0xb0, 0);
	/* 0 disarms; so does leaving the mode; the end of time does not wrap. */
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, 20000), 0);
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, 0), 0);
	assert_null(fake_host.timers);
	assert_int_equal(guest_wrmsr(vm, MSR_TSC_DEADLINE, ~0ull), 0);
	assert_true(fake_host.timers->deadline > GIB(1) << 32);
	wr(0x320, 0x00040);
	assert_null(fake_host.timers);
	assert_int_equal(pending(), -1);
}

static void test_timer_masked(void **)
{
	enable();
	wr(0x3e0, 11);
	wr(0x320, 0x10040);
	wr(0x380, 10);
	fake_host_advance(10 * TICK);
	assert_int_equal(pending(), -1);
	assert_int_equal(rd(0x390), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timer_one_shot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_dividers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_divider_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_periodic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_periodic_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_tiny_period, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_masked, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
