/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/memory/numa.c */
/* Dense NUMA nodes from parsed SRAT and SLIT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/memory/numa.h"

static struct srat_info srat;
static struct slit_info slit;

static void memory(u64 base, u64 size, u32 domain)
{
	srat.memory[srat.nr_memory].base = base;
	srat.memory[srat.nr_memory].size = size;
	srat.memory[srat.nr_memory++].domain = domain;
}

static void cpu(u32 apic_id, u32 domain)
{
	srat.cpu[srat.nr_cpus].apic_id = apic_id;
	srat.cpu[srat.nr_cpus++].domain = domain;
}

static int reset(void **)
{
	memset(&srat, 0, sizeof(srat));
	memset(&slit, 0, sizeof(slit));
	return 0;
}

static void test_absent(void **)
{
	u64 a, b;
	unsigned n;

	assert_null(numa_init(NULL, NULL));
	assert_int_equal(numa_node_count(), 1);
	assert_int_equal(numa_node_of_address(GIB(100)), 0);
	assert_int_equal(numa_node_of_apic_id(7), 0);
	assert_int_equal(numa_distance(0, 0), 10);
	assert_false(numa_memory(0, &a, &b, &n));
}

static void test_sparse_domains(void **)
{
	u64 start, end;
	unsigned node;

	memory(GIB(4), GIB(2), 7);
	memory(0, GIB(2), 2);
	cpu(0, 2);
	cpu(16, 7);
	cpu(32, 4); /* processors without memory: a node too */
	assert_null(numa_init(&srat, NULL));
	assert_int_equal(numa_node_count(), 3);
	assert_int_equal(numa_node_of_proximity(2), 0);
	assert_int_equal(numa_node_of_proximity(4), 1);
	assert_int_equal(numa_node_of_proximity(7), 2);
	assert_int_equal(numa_node_of_proximity(3), -1);
	assert_int_equal(numa_node_of_address(GIB(4)), 2);
	assert_int_equal(numa_node_of_address(GIB(6) - 1), 2);
	assert_int_equal(numa_node_of_address(GIB(6)), 0);
	assert_int_equal(numa_node_of_address(MIB(5)), 0);
	assert_int_equal(numa_node_of_apic_id(16), 2);
	assert_int_equal(numa_node_of_apic_id(32), 1);
	assert_int_equal(numa_distance(0, 2), 20);
	assert_int_equal(numa_distance(1, 1), 10);
	assert_true(numa_memory(0, &start, &end, &node));
	assert_int_equal(start, 0);
	assert_int_equal(end, GIB(2));
	assert_int_equal(node, 0);
	assert_true(numa_memory(1, &start, &end, &node));
	assert_int_equal(start, GIB(4));
	assert_int_equal(node, 2);
	assert_false(numa_memory(2, &start, &end, &node));
}

static void test_slit(void **)
{
	memory(0, GIB(2), 0);
	memory(GIB(4), GIB(2), 2);
	slit.count = 3;
	memset(slit.distance, 99, sizeof(slit.distance));
	slit.distance[0 * 3 + 0] = 10;
	slit.distance[0 * 3 + 2] = 21;
	slit.distance[2 * 3 + 0] = 31;
	slit.distance[2 * 3 + 2] = 10;
	assert_null(numa_init(&srat, &slit));
	assert_int_equal(numa_node_count(), 2);
	assert_int_equal(numa_distance(0, 1), 21);
	assert_int_equal(numa_distance(1, 0), 31);
	assert_int_equal(numa_distance(1, 1), 10);
	assert_int_equal(numa_distance(5, 0), 20);

	slit.count = 2; /* domain 2 is not covered */
	assert_non_null(strstr(numa_init(&srat, &slit), "SLIT"));
	assert_int_equal(numa_node_count(), 2);
	assert_int_equal(numa_distance(0, 1), 20);
}

static void test_bad_srat(void **state)
{
	u32 id;

	memory(0, GIB(4), 0);
	memory(GIB(3), GIB(2), 1);
	assert_non_null(strstr(numa_init(&srat, NULL), "overlap"));
	assert_int_equal(numa_node_count(), 1);
	assert_int_equal(numa_node_of_address(GIB(4)), 0);

	reset(state);
	memory(0, GIB(4), 0);
	memory(GIB(4), GIB(4), 1);
	cpu(3, 0);
	cpu(3, 0); /* listed twice, alike */
	assert_null(numa_init(&srat, NULL));
	cpu(3, 1);
	assert_non_null(strstr(numa_init(&srat, NULL), "two proximity domains"));
	assert_int_equal(numa_node_count(), 1);
	assert_false(numa_apic_id(0, &id));

	reset(state);
	for (u32 i = 0; i <= NUMA_MAX_NODES; i++)
		memory(GIB(i), GIB(1), i * 3);
	assert_non_null(numa_init(&srat, NULL));
	assert_int_equal(numa_node_count(), 1);
	srat.nr_memory--;
	assert_null(numa_init(&srat, NULL));
	assert_int_equal(numa_node_count(), NUMA_MAX_NODES);
	assert_int_equal(numa_distance(63, 62), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_absent, reset),
		cmocka_unit_test_setup(test_sparse_domains, reset),
		cmocka_unit_test_setup(test_slit, reset),
		cmocka_unit_test_setup(test_bad_srat, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
