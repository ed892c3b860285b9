/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Variables that a file has of each CPU: a CPU's are its own, all at 0 with its record, apart from
 * each other and within it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/percpu.h"

static PERCPU bool first;
static PERCPU u64 pair[2];
static PERCPU struct {
	u32 a;
	u32 b;
} both;

static struct cpu cpus[3];

static void test_apart(void **)
{
	for (unsigned i = 0; i < 3; i++) {
		assert_true(!cpu_own(&cpus[i], first) && !cpu_own(&cpus[i], pair)[1] &&
			    !cpu_own(&cpus[i], both).b);
		cpu_own(&cpus[i], first) = i == 1;
		cpu_own(&cpus[i], pair)[0] = ~0ull - i;
		cpu_own(&cpus[i], pair)[1] = 10 + i;
		cpu_own(&cpus[i], both).b = 20 + i;
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(cpu_own(&cpus[i], first), i == 1);
		assert_true(cpu_own(&cpus[i], pair)[0] == ~0ull - i &&
			    cpu_own(&cpus[i], pair)[1] == 10 + i);
		assert_true(!cpu_own(&cpus[i], both).a && cpu_own(&cpus[i], both).b == 20 + i);
	}
}

/* Nothing of the record but own[] is written, and each variable lies as its type wants. */
static void test_within(void **)
{
	struct cpu *cpu = &cpus[0];
	const u8 *at = (const u8 *)&cpu_own(cpu, pair);

	memset(cpu, 0, sizeof(*cpu));
	assert_true(at >= cpu->own && at + sizeof(pair) <= cpu->own + CPU_OWN_SIZE &&
		    !((uintptr_t)at % sizeof(u64)));
	memset(cpu->own, 0xff, sizeof(cpu->own));
	assert_true(cpu_own(cpu, pair)[0] == ~0ull && cpu_own(cpu, both).a == ~0u && !cpu->self &&
		    !cpu->kick);
	/* A new record's are 0. */
	*cpu = (struct cpu){ .id = 7 };
	assert_true(!cpu_own(cpu, pair)[0] && !cpu_own(cpu, both).a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_apart),
					    cmocka_unit_test(test_within) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
