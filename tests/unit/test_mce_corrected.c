/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/mce_way.c */
/*
 * When CPUs look for corrected errors: by the clock, at CMCI, at AMD's threshold interrupt; storms;
 * CPUs whose local APIC is a guest's. Over registers of this file's. kernel/errors/mce_corrected.c
 * is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"

static struct cpu this;
static u64 tsc;
#define this_cpu() (&this)
#define rdtsc() tsc
#include "kernel/errors/mce_corrected.c"

#define SECOND 1000000000ull /* of the TSC */
#define BANKS 4

static u64 cap, ctl2[BANKS], misc[BANKS];
static bool amd, alarm_works;
static unsigned looks, cmci, extended[16];
static irq_handler handler;
static struct cmdline words;
static char line[300];

const struct cmdline *cmdline_of_boot(void)
{
	return &words;
}

int host_rdmsr(u32 msr, u64 *value)
{
	if (msr == 0x179)
		*value = cap;
	else if (msr >= 0x280 && msr < 0x280 + BANKS && cap & BIT(10))
		*value = ctl2[msr - 0x280];
	else if (amd && msr >= 0xc0002000 && msr < 0xc0002000 + 16 * BANKS && msr % 16 == 3)
		*value = misc[(msr - 0xc0002000) / 16];
	else
		return -EFAULT;
	return 0;
}

int host_wrmsr(u32 msr, u64 value)
{
	if (msr >= 0x280 && msr < 0x280 + BANKS && cap & BIT(10))
		ctl2[msr - 0x280] = value;
	else if (amd && msr >= 0xc0002000 && msr < 0xc0002000 + 16 * BANKS && msr % 16 == 3)
		misc[(msr - 0xc0002000) / 16] = value;
	else
		return -EFAULT;
	return 0;
}

struct mce_kind mce_kind_of(u64 mcg_cap)
{
	return (struct mce_kind){ .ser = mcg_cap & BIT(24), .smca = amd, .succor = amd };
}

u32 mce_bank_msr(const struct mce_kind *kind, unsigned bank, unsigned reg)
{
	assert_true(kind->smca);
	return 0xc0002000 + 16 * bank + reg;
}

void mce_look_now(void)
{
	looks++;
}

void apic_lead(u32 lvt, u8 vector)
{
	assert_false(this.closed);
	if (lvt == 0x2f0)
		cmci = vector;
	else
		extended[(lvt - 0x500) / 16] = vector;
}

void trap_set_handler(u8 vector, irq_handler fn, void *)
{
	assert_int_equal(vector, 0xf2);
	handler = fn;
}

void host_timer_arm(struct host_timer *timer, u64 deadline)
{
	assert_ptr_equal(timer, &cpu_own(&this, minute));
	timer->deadline = deadline;
}

u64 host_tsc_khz(void)
{
	return SECOND / 1000;
}

bool host_alarm(void)
{
	return alarm_works;
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

static int reset(void **)
{
	memset(ctl2, 0, sizeof(ctl2));
	memset(misc, 0, sizeof(misc));
	memset(extended, 0xff, sizeof(extended));
	cap = BANKS;
	amd = false;
	words.corrected_in_time = true;
	handler = NULL;
	looks = 0;
	cmci = ~0u;
	tsc = 100 * SECOND;
	this = (struct cpu){ .id = 1 };
	return 0;
}

/* Nothing is armed, and no register written: a bank that could interrupt does not. */
static void test_not_asked(void **)
{
	words.corrected_in_time = false;
	cap = BANKS | BIT(10) | BIT(24);
	corrected_begin();
	assert_true(!cpu_own(&this, minute).deadline && !cpu_own(&this, minute).fn && !handler &&
		    cmci == ~0u && !looks);
	for (unsigned i = 0; i < BANKS; i++)
		assert_int_equal(ctl2[i], 0);
}

/* At full minutes of the TSC, on all CPUs; idle or not is the timers' business. */
static void test_time(void **)
{
	corrected_begin();
	assert_true(cpu_own(&this, minute).deadline == 120 * SECOND && looks == 0 && cmci == ~0u);
	for (unsigned i = 1; i < 4; i++) {
		tsc = cpu_own(&this, minute).deadline + 5;
		cpu_own(&this, minute).fn(&cpu_own(&this, minute));
		assert_true(looks == i &&
			    cpu_own(&this, minute).deadline == (120 + 60 * i) * SECOND);
	}
	corrected_tell();
	assert_string_equal(
		line,
		"machine checks: corrected errors are looked for every 60 s; where a guest has the local APIC, "
		"when it leaves its CPU");
}

static void test_cmci(void **)
{
	cap = BANKS | BIT(10) | BIT(24);
	ctl2[0] = 0x1234 | BIT(40);
	ctl2[1] = BIT(30) | 7; /* another CPU's, or the firmware's */
	corrected_begin();
	assert_true(ctl2[0] == (BIT(40) | BIT(30) | 1) && ctl2[1] == (BIT(30) | 7) &&
		    ctl2[2] == (BIT(30) | 1));
	assert_int_equal(cmci, 0xf2);
	/* The sixteenth of a minute is the last, till the next one. */
	for (unsigned i = 1; i <= 16; i++) {
		handler(NULL);
		assert_int_equal(looks, i);
		assert_int_equal(cmci, i < 16 ? 0xf2 : 0);
	}
	cpu_own(&this, minute).fn(&cpu_own(&this, minute));
	assert_int_equal(cmci, 0xf2);
	/* A guest has the APIC: the timer looks, and touches none of it. */
	this.closed = true;
	cmci = ~0u;
	cpu_own(&this, minute).fn(&cpu_own(&this, minute));
	assert_true(looks == 18 && cmci == ~0u);
	this.closed = false;
	cpu_own(&this, minute).fn(&cpu_own(&this, minute));
	assert_int_equal(cmci, 0xf2);
	alarm_works = true;
	corrected_tell();
	assert_string_equal(
		line,
		"machine checks: corrected errors are looked for every 60 s and at CMCI; where a guest has the "
		"local APIC, every 60 s by NMI");
}

static void test_threshold(void **)
{
	const u64 there = BIT(63) | BIT(62);

	amd = true;
	misc[0] = there | 2ull << 52 | 3ull << 49 | BIT(48) | 0x123ull << 32 | 0x77;
	misc[1] = there | BIT(61) | 5ull << 52; /* firmware's */
	misc[2] = BIT(63);
	corrected_begin();
	assert_true(misc[0] == (there | 2ull << 52 | BIT(51) | BIT(49) | 0xffeull << 32 | 0x77));
	assert_true(misc[1] == (there | BIT(61) | 5ull << 52) && misc[2] == BIT(63) && !misc[3]);
	assert_true(extended[2] == 0xf2 && extended[5] == ~0u && extended[0] == ~0u && cmci == ~0u);
	/* Its counter begins anew. */
	misc[0] |= 0xfffull << 32 | BIT(48);
	handler(NULL);
	assert_true(looks == 1 && (misc[0] >> 32 & 0xfff) == 0xffe && !(misc[0] & BIT(48)));
	for (unsigned i = 1; i < 16; i++)
		handler(NULL);
	assert_int_equal(extended[2], 0);
	corrected_tell();
	assert_non_null(strstr(line, "every 60 s and at the threshold interrupt; "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_time, reset),
		cmocka_unit_test_setup(test_cmci, reset),
		cmocka_unit_test_setup(test_threshold, reset),
		cmocka_unit_test_setup(test_not_asked, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
