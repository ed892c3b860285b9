/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/hwcheck_cpus.c */
/*
 * What the check finds out on each of four CPUs: memory types that differ, and rates, by counters
 * that go at those.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/x86.h>
#include "vmm/report/hwcheck_cpus.h"

#define CPUS 4
#define KHZ 2500000u

static unsigned this_cpu, silent, freed, busy, refusals; /* `busy` takes no work so many times */
static u64 msr[CPUS][0x300]; /* MTRRs, by number */
static u64 khz[CPUS]; /* at which they run */
static unsigned lacks; /* the CPU that has neither */
static bool has_mtrrs, has_counters, intel, exhausted;
static u32 leaf16;
static u64 tsc, turbo;
static void *made;
static struct host_work *forgotten;
static char text[200];

unsigned host_cpu_count(void)
{
	return CPUS;
}

unsigned host_cpu_this(void)
{
	return 0;
}

int host_cpu_assign(unsigned cpu, struct host_work *work)
{
	u64 begun = tsc;

	if (cpu == busy && refusals) {
		refusals--;
		return -EBUSY;
	}
	if (cpu == silent) {
		forgotten = work;
		return 0;
	}
	this_cpu = cpu;
	work->run(work);
	this_cpu = 0;
	/* At the same time as the others. */
	tsc = begun;
	return 0;
}

void *host_pages_alloc(unsigned count, int)
{
	free(made);
	return made = exhausted ? NULL : calloc(count, PAGE_SIZE);
}

void host_pages_free(void *pages, unsigned count)
{
	assert_true(pages == made && count == 1);
	freed++;
}

u64 host_tsc(void)
{
	return tsc += KHZ;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

void host_cpuid(u32 leaf, u32, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	if (leaf == 0 && intel)
		*out = (struct cpuid_regs){ leaf16 ? 0x16 : 0xd, 0x756e6547, 0x6c65746e,
					    0x49656e69 };
	else if (leaf == 0)
		*out = (struct cpuid_regs){ 0x16, 0x68747541, 0x444d4163, 0x69746e65 };
	else if (leaf == 0x16)
		out->ebx = leaf16;
}

int host_rdmsr(u32 n, u64 *value)
{
	*value = 0;
	if (n == 0xe7 || n == 0xe8) {
		*value = n == 0xe7 ? tsc : tsc / 1000 * (khz[this_cpu] * 1000 / KHZ);
		return has_counters && this_cpu != lacks ? 0 : -EFAULT;
	}
	if (n == 0x1ad) {
		*value = turbo;
		return turbo ? 0 : -EFAULT;
	}
	assert_true(n == 0xfe || (n >= 0x200 && n < 0x210) || n == 0x250 || n == 0x258 ||
		    n == 0x259 || n == 0x2ff || (n >= 0x268 && n <= 0x26f));
	*value = msr[this_cpu][n];
	return has_mtrrs && this_cpu != lacks ? 0 : -EFAULT;
}

static int reset(void **)
{
	for (unsigned i = 0; i < CPUS; i++) {
		for (unsigned n = 0x200; n < 0x300; n++)
			msr[i][n] = n * 0x100;
		msr[i][0xfe] = 0x508; /* eight of them, and the fixed ones */
		khz[i] = 2900000;
	}
	has_mtrrs = has_counters = intel = true;
	silent = busy = lacks = 99;
	exhausted = false;
	freed = leaf16 = refusals = 0;
	tsc = turbo = 0;
	return 0;
}

static void test_mtrrs(void **state)
{
	static const u32 each[] = { 0x200, 0x201, 0x20f, 0x250, 0x258, 0x259, 0x268, 0x26f, 0x2ff };

	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_GOOD);
	assert_string_equal(text, "the same on all CPUs");
	assert_int_equal(freed, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(each); i++) {
		reset(state);
		msr[2][each[i]] ^= 6;
		msr[3][each[i]] ^= 6;
		assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_BAD);
		assert_non_null(
			strstr(text, "those of 2 CPUs, CPU 2 the first, differ from CPU 0's: "));
	}
	/* The boot CPU is the odd one; one that has no fixed ones shows none; one has fewer. */
	reset(state);
	msr[0][0x2ff] = 0;
	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_BAD);
	assert_non_null(strstr(text, "those of 3 CPUs, CPU 1 the first"));
	reset(state);
	for (unsigned i = 0; i < CPUS; i++)
		msr[i][0xfe] = 0x407;
	msr[1][0x250] = msr[1][0x26f] = msr[1][0x20e] = 1;
	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_GOOD);
	msr[1][0xfe] = 0x406;
	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_BAD);
	has_mtrrs = false;
	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_UNKNOWN);
}

static void test_rate(void **state)
{
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_GOOD);
	assert_string_equal(text, "CPU 0-3, all busy: 2.9 to 2.9 GHz; 2.5 is guaranteed");
	assert_in_range(tsc, 1000 * (u64)KHZ, 1010 * (u64)KHZ);
	reset(state);
	khz[2] = 1900000;
	khz[3] = 2800000;
	leaf16 = 3500;
	turbo = 0x1f;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_BAD);
	assert_string_equal(
		text,
		"CPU 0-3, all busy: 1.9 to 2.9 of at most 3.5 GHz; 2.5 is guaranteed: look at the setup's power "
		"profile");
	/* Before leaf 16h; AMD's do not say. */
	reset(state);
	turbo = 0x2222222222222324;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_GOOD);
	assert_non_null(strstr(text, " of at most 3.6 GHz;"));
	intel = false;
	leaf16 = 3500;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_GOOD);
	assert_null(strstr(text, "at most"));
	/* A little less is what measuring costs. */
	khz[0] = 2380000;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_GOOD);
	khz[0] = 2370000;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_BAD);
	has_counters = false;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_UNKNOWN);
	assert_string_equal(text, "this CPU does not count it (IA32_APERF)");
}

/* One that does not answer may still do so: its record stays. */
static void test_silent(void **state)
{
	for (unsigned rate = 0; rate < 2; rate++) {
		reset(state);
		silent = 1;
		assert_int_equal(rate ? hwcheck_rate(text, sizeof(text))
				      : hwcheck_mtrrs(text, sizeof(text)),
				 CPUS_UNKNOWN);
		assert_string_equal(text, "a CPU does not answer");
		assert_int_equal(freed, 0);
		assert_in_range(tsc, 1000 * (u64)KHZ, 3100 * (u64)KHZ);
		forgotten->run(forgotten);
	}
	free(made);
	made = NULL;
}

/*
 * One that has another work still is asked again, and is no CPU like the others if it never takes
 * this one.
 */
static void test_busy(void **state)
{
	for (unsigned rate = 0; rate < 2; rate++) {
		reset(state);
		busy = 2;
		refusals = 5;
		assert_int_equal(rate ? hwcheck_rate(text, sizeof(text))
				      : hwcheck_mtrrs(text, sizeof(text)),
				 CPUS_GOOD);
		assert_int_equal(freed, 1);
		refusals = ~0u;
		assert_int_equal(rate ? hwcheck_rate(text, sizeof(text))
				      : hwcheck_mtrrs(text, sizeof(text)),
				 CPUS_UNKNOWN);
		assert_string_equal(text, "a CPU does not answer");
		assert_int_equal(freed, 2);
	}
}

/* One without what is asked for says nothing of the others. */
static void test_unable(void **state)
{
	lacks = 3;
	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_UNKNOWN);
	assert_string_equal(text, "this CPU does not show them");
	reset(state);
	lacks = 3;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_UNKNOWN);
	assert_string_equal(text, "this CPU does not count it (IA32_APERF)");
	reset(state);
	exhausted = true;
	assert_int_equal(hwcheck_rate(text, sizeof(text)), CPUS_UNKNOWN);
	assert_int_equal(hwcheck_mtrrs(text, sizeof(text)), CPUS_UNKNOWN);
	assert_string_equal(text, "no memory left for the hypervisor itself");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_mtrrs, reset),
		cmocka_unit_test_setup(test_rate, reset),
		cmocka_unit_test_setup(test_silent, reset),
		cmocka_unit_test_setup(test_busy, reset),
		cmocka_unit_test_setup(test_unable, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
