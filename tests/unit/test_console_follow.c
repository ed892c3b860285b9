/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Whom the serial line's interrupt comes to, by whom that is changed, and that it is never lost
 * between two CPUs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"

#define KHZ 1000
#define WAIT (KHZ * 100ull)

static struct cpu cpus[4];
static unsigned now_on;
static u64 tsc;

#define this_cpu() (&cpus[now_on])
#define rdtsc() (tsc)
#include "kernel/console/console_follow.c"

static struct {
	enum serial_mode mode;
	unsigned routed;
	unsigned route_errors;
	unsigned routes;
	unsigned masks;
	unsigned off;
	unsigned expected;
	unsigned interrupts;
	bool masked;
	bool locked;
	const char *debugger;
	unsigned again; /* others that come while the handler runs */
} line;

struct cpu *cpu_get(unsigned id)
{
	return &cpus[id];
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

const char *host_debug_name(void)
{
	return line.debugger;
}

enum serial_mode serial_mode(void)
{
	return line.mode;
}

int serial_irq(void)
{
	return 4;
}

bool serial_lock(void)
{
	return line.locked = true;
}

void serial_unlock(bool locked)
{
	assert_true(locked);
	line.locked = false;
}

/* An interrupt that is raised now must reach the CPU that will be asked. */
void serial_interrupts_off(void)
{
	assert_true(line.locked && !line.masked);
	assert_int_equal(line.routed, console_follow_cpu(console_follow_interrupt));
	line.off++;
}

void nmi_expected(unsigned cpu)
{
	line.expected |= 1u << cpu;
}

void ioapic_mask(u32 gsi, bool masked)
{
	assert_int_equal(gsi, 20);
	line.masked = masked;
	line.masks++;
}

u32 irq_gsi(unsigned irq)
{
	assert_int_equal(irq, 4);
	return 20;
}

int irq_route_nmi(unsigned irq, unsigned cpu)
{
	assert_int_equal(irq, 4);
	assert_true(line.masked);
	/* Who may get it looks. */
	assert_true(!cpu || cpus[cpu].nmi_devices);
	line.routes++;
	if (line.route_errors) {
		line.route_errors--;
		return -ERANGE;
	}
	line.masked = false;
	line.routed = cpu;
	return 0;
}

bool console_interrupt(void)
{
	line.interrupts++;
	if (line.again) {
		line.again--;
		assert_true(console_follow_interrupt());
	}
	return line.interrupts == 1;
}

static int begin(void **)
{
	memset(&line, 0, sizeof(line));
	memset(cpus, 0, sizeof(cpus));
	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct cpu){ .id = i, .online = true };
	line.mode = SERIAL_INTERRUPT;
	home = now_on = 0;
	next_move = 0;
	tsc = 1;
	return 0;
}

static void prints(unsigned cpu, bool vm, unsigned owner)
{
	now_on = cpu;
	console_follow(vm);
	assert_int_equal(line.routed, owner);
	assert_int_equal(console_follow_cpu(console_follow_interrupt), owner);
	assert_int_equal(console_follow_cpu(console_interrupt), 0);
	for (unsigned i = 1; i < ARRAY_SIZE(cpus); i++)
		assert_int_equal(cpus[i].nmi_devices, i == owner);
}

static void test_follows(void **)
{
	prints(0, true, 0);
	assert_int_equal(line.routes, 0);
	/* Not the log. */
	prints(2, false, 0);
	prints(2, true, 2);
	assert_int_equal(line.expected, 1);
	assert_int_equal(line.off, 1);
	/* Not too often. */
	tsc += WAIT - 1;
	prints(1, true, 2);
	tsc++;
	prints(1, true, 1);
	assert_int_equal(line.expected, 5);
	tsc += WAIT;
	prints(0, true, 0);
	assert_int_equal(line.routes, 3);
	assert_int_equal(line.off, 3);
}

static void test_stays(void **)
{
	line.mode = SERIAL_POLLED;
	prints(2, true, 0);
	line.mode = SERIAL_INTERRUPT;
	line.debugger = "vm0";
	prints(2, true, 0);
	line.debugger = NULL;
	/* Another CPU is at it. */
	lock = (struct spinlock){ 0 };
	assert_true(spin_trylock(&lock));
	prints(2, true, 0);
	spin_unlock(&lock);
	assert_int_equal(line.routes, 0);
	prints(2, true, 2);
}

/* Whoever says so, and however short ago it was moved. */
static void test_lost(void **)
{
	prints(2, true, 2);
	cpus[2].online = false;
	prints(1, false, 1);
	assert_int_equal(line.routes, 2);
}

static void test_out_of_reach(void **)
{
	line.route_errors = 1;
	prints(3, true, 0);
	assert_int_equal(line.routes, 2);
	assert_int_equal(line.off, 1);
	tsc += 1000 * WAIT;
	prints(3, true, 0);
	prints(1, true, 0);
	assert_int_equal(line.routes, 2);
}

/* One that comes while another runs is not run beside it, but after it. */
static void test_alone(void **)
{
	assert_true(console_follow_interrupt());
	assert_int_equal(line.interrupts, 1);
	assert_false(console_follow_interrupt());
	line.again = 1;
	line.interrupts = 0;
	assert_true(console_follow_interrupt());
	assert_int_equal(line.interrupts, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_follows, begin),
		cmocka_unit_test_setup(test_stays, begin),
		cmocka_unit_test_setup(test_lost, begin),
		cmocka_unit_test_setup(test_out_of_reach, begin),
		cmocka_unit_test_setup(test_alone, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
