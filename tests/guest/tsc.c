/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 *
 * The TSC never goes back, neither on one CPU nor from one to the other, read
 * by RDTSC, RDTSCP or RDMSR, whatever is written to it and to TSC_ADJUST,
 * which reads as what was written.
 */
#include "tiny.h"

#define ROUNDS 20000

static volatile char lock;
static u64 last;
static unsigned backwards, other;
static volatile unsigned reads[2];
static bool rdtscp;

static u64 read(unsigned i)
{
	u32 lo, hi;

	if (i % 8 == 0)
		return rdmsr(0x10);
	if (i % 2 && rdtscp) {
		asm volatile("rdtscp" : "=a"(lo), "=d"(hi) : : "rcx", "memory");
		return (u64)hi << 32 | lo;
	}
	asm volatile("lfence");
	return rdtsc();
}

static void work(void *arg)
{
	unsigned me = this_cpu()->id;

	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		u64 now;

		while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
			cpu_relax();
		now = read(i);
		backwards += now < last;
		last = now;
		reads[me] = reads[me] + 1;
		__atomic_clear(&lock, __ATOMIC_RELEASE);
		if (i % 64 == 0) {
			wrmsr(0x10, i);
			(void)try_wrmsr(0x3b, i);
			other += rdmsr(0x3b) != i;
			(void)try_wrmsr(0x3b, 0);
			other += rdmsr(0x3b) != 0;
		}
	}
}

void test_main(void)
{
	rdtscp = cpuid(0x80000001, 0).edx & BIT(27);
	smp_start();
	smp_run(1, work, NULL);
	work(NULL);
	smp_wait(1);
	check(!backwards, "went back %u times", backwards);
	check(!other, "TSC_ADJUST was another one %u times", other);
	check(reads[0] == ROUNDS && reads[1] == ROUNDS, "%u and %u reads", reads[0], reads[1]);
}
