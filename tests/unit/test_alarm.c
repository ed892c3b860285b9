/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: -D_GNU_SOURCE */
/*
 * Timers of CPUs whose local APIC is a guest's, over a model of an HPET (IA-PC HPET 1.0a, 2.3.8 and
 * 2.3.9): comparators that compare for equality, 32 bits when told so, and interrupt at the wrap,
 * too; an I/O APIC; NMIs of the boot CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"

#define KHZ 2000000u      /* of the TSC */
#define PERIOD_FS 10000000u /* 10 ns */
#define TICK (KHZ / 100000) /* TSC per tick of the HPET: 20 */
#define LIMIT 1000
#define CPUS 3
#define TIMERS 3

static struct {
	/* the boot CPU's TSC; the counter's value at the first */
	u64 tsc;
	u64 counter_from;
	u64 counter_at;

	u32 config[TIMERS];
	u32 caps[TIMERS];
	u32 comparator[TIMERS];
	unsigned slow;            /* ticks that each access takes */
	bool stands;
	bool absent;
	unsigned routed;          /* input that is open as NMI; 0: none */
	unsigned dead;            /* inputs, a bit each, by which nothing comes */
	unsigned tried;
	unsigned nmis;
	unsigned opens;
	unsigned waits;
	unsigned strays;          /* NMIs of others, a millisecond after each other */
	bool busy;                /* no input can be had */
	unsigned wants;           /* GSIs of PCI functions, a bit each */
	bool no_slot;             /* nmi_request() refuses */
	bool noted;               /* an NMI, at which nobody has looked */
} m;
static struct cpu cpus[CPUS];
static unsigned self, kicked[CPUS], apic_armed;
static bool (*device_fn)(void);
static char said[LIMIT];

static u32 counter(void)
{
	return m.stands ? 7 : (u32)(m.counter_at + (m.tsc - m.counter_from) / TICK);
}

static void nmi(void)
{
	m.nmis++;
	m.noted = true;
	cpus[0].nmi_count++;
}

/* Of an NMI on the way nobody knows whose it was: an input that is tried is told before. */
static unsigned excused;

void nmi_expected(unsigned cpu)
{
	assert_int_equal(cpu, 0);
	excused++;
}

/*
 * Time goes on by so many ticks of the HPET: what a comparator passes on the way, it interrupts
 * for.
 */
static void ticks(u64 n)
{
	u32 from = counter(), to;

	m.tsc += n * TICK;
	to = counter();
	if (m.strays && m.tsc > 1000000 + (4 - m.strays) * KHZ) {
		m.strays--;
		nmi();
	}
	for (unsigned i = 0; i < TIMERS && n < BIT(32) && !m.stands; i++) {
		bool met = (u32)(m.comparator[i] - from - 1) < (u32)(to - from),
		     wrapped = to < from;
		unsigned input = m.config[i] >> 9 & 31;

		assert_true(!(m.config[i] & 4) || (m.config[i] & 0x414a) == 0x0100);
		if (m.config[i] & 4 && (met || wrapped) && m.routed == input &&
		    !(m.dead >> input & 1))
			nmi();
	}
}

volatile u8 *hpet_registers = (u8 *)0x1000;

static u32 fake_read32(const volatile void *p)
{
	u32 at = (u32)((const volatile u8 *)p - hpet_registers);

	if (at == 0)
		return 0x8086a001 | (TIMERS - 1) << 8;
	ticks(m.slow);
	if (at == 0xf0)
		return counter();
	assert_true(at >= 0x100 && at < 0x100 + TIMERS * 0x20 && (at & 0x1b) == 0);
	return (at & 4 ? m.caps : m.config)[(at - 0x100) / 0x20];
}

static void fake_write32(volatile void *p, u32 value)
{
	u32 at = (u32)((volatile u8 *)p - hpet_registers);

	assert_true(at >= 0x100 && at < 0x100 + TIMERS * 0x20 && (at & 0x17) == 0);
	(at & 8 ? m.comparator : m.config)[(at - 0x100) / 0x20] = value;
	ticks(m.slow);
}

static u64 fake_rdtsc(void)
{
	ticks(1);
	return m.tsc + (u64)cpus[self].tsc_ahead;
}

#define mmio_read32 fake_read32
#define mmio_write32 fake_write32
#define rdtsc fake_rdtsc
#define this_cpu() (&cpus[self])
#include "drivers/hpet_alarm.c"
#define now alarm_now
#define program alarm_program
#include "kernel/time/alarm.c"
#undef now
#undef program
#include "kernel/time/timer.c"
#include "kernel/work/alarm_input.c"

bool hpet_present(void)
{
	return !m.absent;
}

u32 hpet_period_fs(void)
{
	return PERIOD_FS;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

unsigned host_cpu_count(void)
{
	return CPUS;
}

struct cpu *cpu_get(unsigned id)
{
	return &cpus[id];
}

void host_cpu_kick(unsigned id)
{
	kicked[id]++;
}

/* Asleep, until an NMI or the CPU's timer; then what asks for either. */
void host_cpu_wait(void)
{
	assert_true(cpus[0].timers);
	while (!m.noted && m.tsc < cpus[0].timers->deadline)
		ticks(100);
	if (m.noted)
		device_fn();
	m.noted = false;
	m.waits++;
	timer_run_due();
}

int nmi_request(unsigned irq, bool (*fn)(void))
{
	assert_int_equal(irq, NMI_MESSAGE);
	device_fn = fn;
	return m.no_slot ? -ENOSPC : 0;
}

int ioapic_route_nmi(u32 gsi, u32 apic_id, bool active_low)
{
	assert_true(apic_id == 77 && !active_low);
	m.tried |= 1u << gsi;
	if (m.busy)
		return -EBUSY;
	m.routed = gsi;
	m.opens++;
	return 0;
}

void ioapic_mask(u32 gsi, bool masked)
{
	assert_true(masked && m.routed == gsi);
	m.routed = 0;
}

int host_intx_route(unsigned i, struct host_intx *out)
{
	*out = (struct host_intx){ .gsi = i };
	return i == 40 || (i < 32 && m.wants >> i & 1) ? 0 : -ENOENT;
}

void printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

void apic_timer_arm(u64)
{
	apic_armed++;
}

void apic_timer_stop(void) { }

void apic_timer_init_cpu(void) { }

void trap_set_handler(u8, void (*)(void *), void *) { }

static int setup(void **)
{
	memset(&m, 0, sizeof(m));
	memset(cpus, 0, sizeof(cpus));
	memset(kicked, 0, sizeof(kicked));
	m.tsc = 1000000;
	m.slow = 1;
	for (unsigned i = 0; i < TIMERS; i++)
		m.caps[i] = 0xff0104;
	for (unsigned i = 0; i < CPUS; i++)
		cpus[i] = (struct cpu){ .id = i, .apic_id = 77 + i, .closed = true };
	self = apic_armed = 0;
	works = owed = false;
	wait = 0;
	device_fn = NULL;
	said[0] = 0;
	return 0;
}

/* After a boot that found it. */
static int ready(void **state)
{
	setup(state);
	alarm_init();
	assert_true(host_alarm());
	assert_int_equal(m.nmis, 3);
	assert_int_equal(m.waits, 3);
	assert_false(cpus[0].timers || device_fn() || m.config[0] & 4);
	m.nmis = 0;
	return 0;
}

static void found(unsigned n, unsigned input)
{
	char text[100];

	alarm_init();
	snprintf(text, sizeof(text), "HPET: timer %u, NMI by input %u", n, input);
	assert_string_equal(said, text);
	assert_true(host_alarm() && m.routed == input);
	assert_int_equal(m.config[n] & ~0x38u, 0x100 | input << 9);
}

static void none(void)
{
	alarm_init();
	assert_string_equal(said, "");
	assert_true(!host_alarm() && !m.routed);
	/* And nobody finds one. */
	cpus[0].closed = true;
	alarm_set(m.tsc + 1000);
	ticks(100000);
	assert_false(cpu_own(&cpus[0], due));
}

/* What firmware has left of a comparator is not kept, but what cannot be written. */
static void test_inputs(void **state)
{
	m.config[0] = 0x40 | 0x02 | 0x08 | 0x4000 | 5 << 9 | 0x30;
	found(0, 8);
	setup(state);
	m.dead = 1 << 8;
	found(0, 16);
	assert_int_equal(m.tried, 1 << 8 | 1 << 16);
	assert_int_equal(m.opens, 2);
	setup(state);
	m.caps[0] = m.caps[1] = 0xf00000;
	m.caps[2] = 0xf00800;
	m.wants = 0xf00000;
	found(2, 11);
	setup(state);
	m.wants = 1 << 8 | 7 << 16;
	found(0, 19);
	assert_int_equal(m.tried, 1 << 19);
	/* None of them is tried by two comparators. */
	setup(state);
	m.dead = ~0u;
	none();
	assert_true(m.tried == (1 << 8 | 0xff << 16) && m.opens == 9);
}

/*
 * The NMI of one shot came before the CPU slept: it is looked at in the next one, and does not stop
 * that.
 */
static void test_seen_late(void **)
{
	m.noted = owed = true;
	found(0, 8);
	assert_int_equal(m.waits, 4);
}

static void test_refused(void **state)
{
	m.absent = true;
	none();
	setup(state);
	m.stands = true;
	none();
	setup(state);
	m.caps[0] = m.caps[1] = m.caps[2] = 0x4 | 0x1;
	none();
	assert_int_equal(m.tried, 0);
	setup(state);
	m.wants = 0xffff00;
	none();
	assert_int_equal(m.tried, 0);
	setup(state);
	m.busy = true;
	none();
	setup(state);
	m.no_slot = true;
	none();
	assert_int_equal(m.opens, 0);
}

/* NMIs of others, the console's and gdb's, are not taken for the comparator's. */
static void test_chance(void **)
{
	m.dead = ~0u;
	m.strays = 2;
	none();
	assert_int_equal(m.nmis, 2);
}

static unsigned fired[CPUS];

static void timer_fired(struct host_timer *t)
{
	fired[t->cpu]++;
}

/* The CPU's next window, after it was kicked. */
static unsigned window(unsigned id)
{
	unsigned before = fired[id];

	self = id;
	timer_run_due();
	return fired[id] - before;
}

/* The boot CPU's window: 1 if the NMI was the alarm's. */
static bool boot_window(void)
{
	self = 0;
	return device_fn();
}

static void test_one(void **)
{
	static struct host_timer t = { .fn = timer_fired };
	u64 deadline;

	self = 1;
	deadline = m.tsc + 30ull * KHZ * 1000;
	host_timer_arm(&t, deadline);
	assert_int_equal(cpu_own(&cpus[1], due), deadline | 1);
	assert_false(apic_armed);
	/*
	 * 2^31 ticks of 10 ns are 21 s: one NMI on the way; whoever comes to a window before, it is
	 * not the alarm's.
	 */
	ticks(2000000000);
	assert_true(!m.nmis && !boot_window());
	while (!m.nmis && m.tsc < deadline)
		ticks(1000);
	assert_true(m.tsc < deadline && boot_window() && !kicked[1]);
	m.nmis = 0;
	while (!m.nmis)
		ticks(1000);
	assert_true(boot_window() && kicked[1]);
	assert_in_range(m.tsc, deadline, deadline + KHZ);
	assert_int_equal(window(1), 1);
	assert_true(!cpu_own(&cpus[1], due) && !(m.config[0] & 4) && kicked[1] == 1 && !kicked[0] &&
		    !kicked[2]);
	m.nmis = 0;
	ticks(BIT(32) - 2);
	assert_true(!m.nmis && !boot_window());
}

static void wait_nmi(void)
{
	m.nmis = 0;
	for (unsigned i = 0; !m.nmis; i++) {
		assert_true(i < 1000000);
		ticks(100);
	}
}

/* Several CPUs, the boot CPU itself; the nearest one first, moved, and taken away. */
static void test_several(void **)
{
	static struct host_timer t[CPUS] = { { .fn = timer_fired },
					     { .fn = timer_fired },
					     { .fn = timer_fired } };
	u64 begin = m.tsc;

	for (self = 0; self < CPUS; self++)
		host_timer_arm(&t[self], begin + (CPUS - self) * KHZ);
	wait_nmi();
	assert_true(boot_window());
	while (!kicked[2]) {
		wait_nmi();
		assert_true(boot_window());
	}
	assert_true(!kicked[0] && !kicked[1]);
	/* It has not come to its window yet: nobody is kicked again for it. */
	self = 1;
	host_timer_cancel(&t[1]);
	self = 0;
	host_timer_arm(&t[0], begin + 5 * KHZ);
	while (!kicked[0]) {
		wait_nmi();
		assert_true(boot_window());
	}
	assert_in_range(m.tsc, begin + 5 * KHZ, begin + 6 * KHZ);
	assert_true(kicked[2] == 1 && !kicked[1]);
	assert_true(window(0) == 1 && window(2) == 1 && !window(1));
	assert_false(m.config[0] & 4);
	self = 1;
	alarm_set(m.tsc + KHZ);
	self = 2;
	alarm_set(m.tsc + 900ull * KHZ);
	begin = m.tsc;
	wait_nmi();
	assert_true(m.tsc < begin + 3 * KHZ && boot_window() && kicked[1] == 1 && kicked[2] == 1);
}

/* A comparator that has passed when it is written, for the bus is slow, would be a round late. */
static void test_slow(void **)
{
	for (m.slow = 0; m.slow < 3000; m.slow += 37) {
		self = 2;
		alarm_set(1);
		m.nmis = 0;
		for (unsigned i = 0; !m.nmis; i++) {
			assert_true(i < 100);
			ticks(1000);
		}
		assert_true(boot_window());
		assert_false(cpu_own(&cpus[2], due));
	}
	assert_int_equal(kicked[2], 82);
}

/* Written anew just when it interrupts: the NMI is the alarm's all the same, once. */
static void test_race(void **)
{
	u64 at = m.tsc + KHZ;

	self = 1;
	alarm_set(at);
	wait_nmi();
	self = 2;
	alarm_set(m.tsc + 1000ull * KHZ);
	assert_true(boot_window());
	assert_true(kicked[1] || cpu_own(&cpus[1], due));
	while (!kicked[1]) {
		wait_nmi();
		assert_true(boot_window());
	}
	assert_in_range(m.tsc, at, at + 3 * KHZ);
	assert_false(boot_window());
	self = 2;
	alarm_set(0);
	assert_true(!(m.config[0] & 4) && !boot_window());
	ticks(3000000000);
	assert_false(boot_window());
	/* And stopped. */
	self = 1;
	alarm_set(m.tsc + KHZ);
	wait_nmi();
	self = 1;
	alarm_set(0);
	assert_true(boot_window() && !boot_window());
	ticks(1000000);
	assert_false(boot_window());
}

/* The NMI when the counter wraps is the alarm's, and what was to come after it comes. */
static void test_wrap(void **)
{
	m.counter_from = m.tsc;
	m.counter_at = BIT(32) - 50000;
	self = 1;
	alarm_set(m.tsc + 2 * KHZ);
	wait_nmi();
	assert_true(counter() < 1000 && boot_window() && !kicked[1]);
	while (!kicked[1]) {
		wait_nmi();
		assert_true(boot_window());
	}
	assert_in_range(counter(), 150000, 251000);
}

/* A CPU whose TSC is ahead, or behind, names the same moment. */
static void test_skew(void **)
{
	static const s64 ahead[] = { 5000000, -5000000 };

	for (unsigned i = 0; i < 2; i++) {
		u64 at = m.tsc + 10 * KHZ;

		cpus[1].tsc_ahead = ahead[i];
		kicked[1] = 0;
		self = 1;
		alarm_set(at + (u64)ahead[i]);
		while (!kicked[1]) {
			wait_nmi();
			assert_true(boot_window());
		}
		assert_in_range(m.tsc, at, at + KHZ);
	}
}

/* A CPU that is kicked before its TSC says so, says it again. */
static void test_early(void **)
{
	static struct host_timer t = { .fn = timer_fired };

	self = 1;
	host_timer_arm(&t, m.tsc + KHZ);
	cpu_own(&cpus[1], due) = 0;
	assert_int_equal(window(1), 0);
	assert_int_equal(cpu_own(&cpus[1], due), t.deadline | 1);
	/* With its own APIC again it uses that. */
	alarm_set(0);
	cpus[1].closed = false;
	timer_run_due();
	assert_true(apic_armed == 1 && !cpu_own(&cpus[1], due));
	host_timer_cancel(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_inputs, setup),
		cmocka_unit_test_setup(test_seen_late, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_chance, setup),
		cmocka_unit_test_setup(test_one, ready),
		cmocka_unit_test_setup(test_several, ready),
		cmocka_unit_test_setup(test_slow, ready),
		cmocka_unit_test_setup(test_race, ready),
		cmocka_unit_test_setup(test_wrap, ready),
		cmocka_unit_test_setup(test_skew, ready),
		cmocka_unit_test_setup(test_early, ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
