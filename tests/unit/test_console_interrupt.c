/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The console's interrupt is relied on only if it comes, each time, and no NMI of that is taken for
 * the platform's; without it the line is looked at, and an idle node wakes to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"
#include "tests/unit/fake_say.h"

#define KHZ 1000u

static struct cpu cpus[2];
static unsigned now_on;
static u64 tsc;

static u64 fake_rdtsc(void)
{
	return tsc += KHZ;
}

#define this_cpu() (&cpus[now_on])
#define rdtsc() fake_rdtsc()
#include "kernel/work/console_interrupt.c"
#include "kernel/work/nmi_try.c"

static struct {
	enum serial_mode mode;
	unsigned comes;         /* so many of its interrupts */
	int request_says;
	unsigned requests;
	unsigned asks;
	unsigned masks;
	unsigned polls;
	unsigned arms;
	/* an NMI that nobody has looked at; it may be nobody's */
	bool noted;
	bool expected;

	u32 masked;
	int on;   /* the interrupt that is in use */
	bool asking;
	bool locked;
	struct host_timer *timer;
} line;
static struct cmdline c;

enum serial_mode serial_mode(void)
{
	return line.mode;
}

bool serial_lock(void)
{
	return line.locked = true;
}

void serial_unlock(bool locked)
{
	line.locked = !locked;
}

void serial_ask(bool on)
{
	/*
	 * What has come before has been looked at: its device, which may have the same input, would
	 * keep that high.
	 */
	assert_true(line.locked && line.asking != on && !(on && line.noted));
	line.asking = on;
	line.asks += on;
	if (on && line.comes) {
		line.comes--;
		cpus[0].nmi_count++;
		line.noted = true;
	}
}

int nmi_request(unsigned irq, bool (*fn)(void))
{
	assert_true(irq == (unsigned)c.console_irq && fn);
	line.requests++;
	return line.request_says;
}

void nmi_expected(unsigned cpu)
{
	assert_int_equal(cpu, 0);
	line.expected = true;
}

/*
 * What is looked at with no word of whose it may be is the platform's, which is the node's end by
 * nmi=panic.
 */
void nmi_look(void)
{
	assert_false(line.noted && !line.expected);
	line.noted = false;
}

u32 irq_gsi(unsigned irq)
{
	return irq + 16;
}

void ioapic_mask(u32 gsi, bool masked)
{
	assert_true(masked);
	line.masked = gsi;
	line.masks++;
}

bool console_interrupt(void)
{
	return false;
}

bool console_follow_interrupt(void)
{
	return false;
}

void console_interrupts_on(int irq)
{
	assert_false(line.asking);
	line.on = irq;
}

void console_poll(void)
{
	line.polls++;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

void host_timer_arm(struct host_timer *t, u64 deadline)
{
	assert_true(deadline > tsc && deadline <= tsc + 20 * KHZ);
	line.timer = t;
	line.arms++;
}

static void put(const char *fmt, va_list ap)
{
	say_line(fmt, ap);
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}

static int reset(void **)
{
	memset(&line, 0, sizeof(line));
	memset(cpus, 0, sizeof(cpus));
	cpus[1].id = 1;
	line.mode = SERIAL_POLLED;
	line.on = -1;
	c = (struct cmdline){ .console_irq = 7 };
	now_on = 0;
	console_polled = false;
	said[0] = 0;
	return 0;
}

static void test_comes(void **)
{
	line.comes = 3;
	console_interrupt_init(&c);
	assert_int_equal(line.on, 7);
	assert_int_equal(line.asks, 3);
	assert_true(!line.masks && !console_polled && !line.noted);
	assert_string_equal(said, "");
}

/* Not once, or not each time: the input is masked again, and a line says it. */
static void test_does_not_come(void **state)
{
	for (unsigned comes = 0; comes < 3; comes++) {
		reset(state);
		line.comes = comes;
		console_interrupt_init(&c);
		assert_int_equal(line.on, -1);
		assert_int_equal(line.asks, comes + 1);
		assert_true(line.masks == 1 && line.masked == 23 && console_polled && !line.noted);
		assert_string_equal(
			said,
			"console: interrupt 7 does not come: the line is polled; input is seen when "
			"something happens: console=...,irq= says which it is\n");
	}
	reset(state);
	line.request_says = -ENODEV;
	console_interrupt_init(&c);
	assert_true(!line.asks && !line.masks && console_polled &&
		    strstr(said, "interrupt 7 does not come"));
}

static void test_has_none(void **state)
{
	for (s32 irq = CMDLINE_IRQ_NONE; irq < 0; irq++) {
		reset(state);
		c.console_irq = irq;
		console_interrupt_init(&c);
		assert_true(!line.requests && console_polled);
		assert_string_equal(
			said,
			"console: no interrupt: the line is polled; input is seen when something "
			"happens\n");
	}
	/* No line at all: nobody is to be told. */
	reset(state);
	line.mode = SERIAL_NONE;
	console_interrupt_init(&c);
	assert_true(!line.requests && !console_polled);
	assert_string_equal(said, "");
}

/* Once a millisecond at most, by whomever; not at all where there is an interrupt. */
static void test_look(void **)
{
	console_look();
	assert_int_equal(line.polls, 0);
	console_polled = true;
	tsc += 1000 * KHZ;
	console_look();
	assert_int_equal(line.polls, 1);
	tsc -= KHZ; /* it goes on with each look */
	now_on = 1;
	console_look();
	assert_int_equal(line.polls, 1);
	console_look();
	assert_int_equal(line.polls, 2);
}

static void test_idle(void **)
{
	console_idle();
	assert_int_equal(line.arms, 0);
	console_polled = true;
	console_idle();
	assert_int_equal(line.arms, 1);
	/* It is armed. Others sleep on. */
	console_idle();
	line.timer->fn(line.timer);
	now_on = 1;
	console_idle();
	assert_int_equal(line.arms, 1);
	now_on = 0;
	console_idle();
	assert_int_equal(line.arms, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_comes, reset),
		cmocka_unit_test_setup(test_does_not_come, reset),
		cmocka_unit_test_setup(test_has_none, reset),
		cmocka_unit_test_setup(test_look, reset),
		cmocka_unit_test_setup(test_idle, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
