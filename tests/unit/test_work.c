/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * How a CPU sleeps: in which state, on which word, and what it does awake. kernel/work/work.c is
 * included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/idle.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/boot/cmdline.h"
#include "kernel/percpu.h"

#define KHZ 2000000ull
#define NOW 1000000000ull

static struct cpu the_cpu;
static struct cmdline words;
static struct host_timer timer;
static enum { NONE, HLT, NMI_ONLY, MWAIT } slept;
static u32 hint;
static unsigned windows, looks;
struct cpu_features cpu_features;

static u64 fake_rdtsc(void)
{
	return NOW;
}

static void fake_window(void)
{
	windows++;
}

#define this_cpu() (&the_cpu)
#define rdtsc fake_rdtsc
#define trap_window fake_window
#include "kernel/cpu/kick.c"
#include "kernel/work/work.c"

/* All of them are awake by a kick. */
static void sleeps(const u32 *word, int how)
{
	assert_ptr_equal(word, &the_cpu.kick);
	slept = how;
	the_cpu.kick = 1;
}

void idle_hlt(const u32 *word)
{
	sleeps(word, HLT);
}

void idle_nmi(const u32 *word)
{
	sleeps(word, NMI_ONLY);
}

void idle_mwait(const u32 *word, u32 eax)
{
	sleeps(word, MWAIT);
	hint = eax;
}

void nmi_look(void)
{
	looks++;
}

void mce_look(void) { }

void timer_run_due(void)
{
	/* Whoever looks now finds what the kick was for, and the next one is not lost. */
	assert_int_equal(the_cpu.kick, 0);
}

const struct cmdline *cmdline_of_boot(void)
{
	return &words;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

struct cpu *cpu_get(unsigned)
{
	return &the_cpu;
}

void apic_send_nmi(u32)
{
	fail();
}

bool idle_work(void)
{
	fail();
	return false;
}

void idle_work_pass_on(void)
{
	fail();
}

bool console_polled;

void console_poll_now(void) { }

void console_idle(void) { }

bool screen_idle_draw(void)
{
	fail();
	return false;
}

void screen_idle_ends(void)
{
	fail();
}

static int setup(void **)
{
	memset(&the_cpu, 0, sizeof(the_cpu));
	memset(&words, 0, sizeof(words));
	cpu_features = (struct cpu_features){ .mwait = true, .mwait_hint = 0x21, .arat = true };
	windows = looks = 0;
	return 0;
}

static void waits(int how)
{
	slept = NONE;
	host_cpu_wait();
	assert_int_equal(slept, how);
	if (how == MWAIT)
		assert_int_equal(hint, 0x21);
	assert_int_equal(the_cpu.kick, 0);
}

/* Deepest, whatever is due, where MWAIT sleeps and the timer goes on. */
static void test_unowned(void **)
{
	timer.deadline = NOW + 1;
	the_cpu.timers = &timer;
	words.idle_halt = true;
	waits(MWAIT);
	assert_int_equal(windows, 1);
	assert_int_equal(looks, 1);
	assert_true(host_mwait());
	cpu_features.arat = false;
	assert_false(host_mwait());
	waits(HLT);
	cpu_features.arat = cpu_features.tcg = true;
	assert_false(host_mwait());
	waits(HLT);
	cpu_features.tcg = cpu_features.mwait = false;
	assert_false(host_mwait());
	waits(HLT);
}

/* Deepest where nothing is due for more than a millisecond. */
static void test_halted(void **)
{
	the_cpu.working = true;
	waits(MWAIT);
	the_cpu.timers = &timer;
	timer.deadline = NOW + KHZ;
	waits(HLT);
	timer.deadline = NOW + KHZ + 1;
	waits(MWAIT);
	timer.deadline = NOW - 1;
	waits(HLT);
	timer.deadline = ~0ull;
	waits(MWAIT);
	words.idle_halt = true;
	waits(HLT);
	words.idle_halt = false;
	cpu_features.tcg = true;
	waits(HLT);
}

/* Interrupts stay off: no window, and no state from which an interrupt would have to wake it. */
static void test_closed(void **)
{
	the_cpu.working = the_cpu.closed = true;
	waits(NMI_ONLY);
	/* One of a lost VM's, which nobody owns, too. */
	the_cpu.working = false;
	waits(NMI_ONLY);
	assert_int_equal(windows, 0);
	assert_int_equal(looks, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_unowned, setup),
		cmocka_unit_test_setup(test_halted, setup),
		cmocka_unit_test_setup(test_closed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
