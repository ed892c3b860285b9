/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/plan/plan.c vmm/plan/plan_memory.c vmm/memory/gpa_map.c @tests/unit/vm_files.sources lib/span.c */
/* The planner by example: which CPUs and which memory a VM gets, and what it is refused for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/plan_machine.h"

static void planned(const char *keys)
{
	if (plan_text(keys))
		fail_msg("%s", err.text);
}

/* More free memory mends what lacks some, and nothing else. */
static void refused(const char *keys, const char *message)
{
	assert_int_equal(plan_text(keys), strstr(message, "not enough") ? -ENOMEM : -EINVAL);
	assert_string_equal(err.text, message);
}

static void expect_cpus(unsigned n, const u16 *cpu)
{
	assert_int_equal(plan.nr_cpus, n);
	assert_memory_equal(plan.cpu, cpu, n * sizeof(cpu[0]));
}

#define CPUS(...) expect_cpus(ARRAY_SIZE(((u16[]){ __VA_ARGS__ })), (u16[]){ __VA_ARGS__ })

static void expect_extent(unsigned i, u64 base, u64 size, unsigned node)
{
	assert_true(i < plan.nr_extents);
	assert_int_equal(plan.extent[i].base, base);
	assert_int_equal(plan.extent[i].size, size);
	assert_int_equal(plan.extent[i].node, node);
}

/* ---- CPUs ------------------------------------------------------------------------ */

static void cpus_of_one_node(void **)
{
	machine(2, 4, 0, 8);
	planned("cpus = 3\nmemory = 4G\n");
	CPUS(0, 1, 2);
	/* The next VM finds the rest of node 0 too small and takes node 1 whole. */
	for (unsigned i = 0; i < 3; i++)
		host.cpu[i].owner = "vm0";
	planned("cpus = 2\nmemory = 4G\n");
	CPUS(4, 5);
	/* Memory decides, too. */
	machine(2, 4, 0, 8);
	host.piece[1].end = GIB(5);
	planned("cpus = 2\nmemory = 6G\n");
	CPUS(4, 5);
	expect_extent(0, GIB(12), GIB(6), 1);
}

static void cpus_of_several_nodes(void **)
{
	machine(2, 6, 0, 9);
	planned("cpus = all\nmemory = 16G\n");
	CPUS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	assert_int_equal(plan.nr_extents, 2);
	expect_extent(0, GIB(4), GIB(8), 0);
	expect_extent(1, GIB(13), GIB(8), 1);
	/* Not more nodes than the memory needs, evenly. */
	machine(4, 4, 0, 4);
	planned("cpus = 4\nmemory = 8G\n");
	CPUS(0, 1, 4, 5);
	/* By the nodes that the memory names. */
	machine(4, 4, 0, 4);
	planned("cpus = 4\nmemory = node2:1G, node3:2G\n");
	CPUS(8, 9, 12, 13);
	expect_extent(0, GIB(12), GIB(1), 2);
	expect_extent(1, GIB(16), GIB(2), 3);
	/* An uneven split: in proportion. */
	machine(2, 4, 0, 8);
	planned("cpus = 0-2,4\nmemory = 6G\n");
	assert_int_equal(plan.extent[0].size, MIB(4608));
	assert_int_equal(plan.extent[1].size, MIB(1536));
}

static void pinned_cpus(void **)
{
	machine(2, 4, 0, 8);
	planned("cpus = 6,1\nmemory = 2G\n");
	CPUS(6, 1);
	assert_int_equal(plan.extent[0].node, 0);
	assert_int_equal(plan.extent[1].node, 1);
	machine(2, 4, 0, 8);
	refused("cpus = 7-8\nmemory = 2G\n", "f:2: cpus: the machine has CPUs 0-7, found 8");
	host.cpu[7].online = false;
	refused("cpus = 7-7\nmemory = 2G\n", "f:2: cpus: the machine has CPUs 0-6, found 7");
	host.cpu[2].owner = "other";
	refused("cpus = 1-3\nmemory = 2G\n", "f:2: cpus: CPU 2 is other's");
}

/*
 * Threads of a core: IDs 2n and 2n+1; the machine's order has all first threads before the second
 * ones.
 */
static void threads_machine(void)
{
	machine(2, 4, 1, 8);
	for (unsigned i = 0; i < 8; i++) {
		host.cpu[i].apic_id = i % 4 * 2 + i / 4;
		host.cpu[i].node = (u16)(i % 4 / 2);
	}
}

static void threads_of_a_core(void **)
{
	/* Both threads of one core, not one of two. */
	threads_machine();
	planned("cpus = 2\nmemory = 2G\n");
	CPUS(0, 4);
	/* What belongs to a core of another VM is not free. */
	threads_machine();
	host.cpu[0].owner = "vm0";
	planned("cpus = 1\nmemory = 2G\n");
	CPUS(1);
	threads_machine();
	host.cpu[0].owner = "vm0";
	refused("cpus = 4-4\nmemory = 2G\n",
		"f:2: cpus: CPU 4 is a thread of CPU 0's core, which is vm0's: "
		"both need allow_smt_sharing = yes");
	refused("cpus = 7\nmemory = 2G\n",
		"f:2: cpus: 7 wanted, free are node0 2, node1 4; 2 belong to other VMs or share a core with theirs");
	/* Both must allow it. */
	threads_machine();
	host.cpu[0].owner = "vm0";
	assert_int_equal(plan_text("cpus = 4-4\nmemory = 2G\nallow_smt_sharing = yes\n"), -EINVAL);
	threads_machine();
	host.cpu[0].owner = "vm0";
	host.cpu[0].shares = true;
	assert_int_equal(plan_text("cpus = 4-4\nmemory = 2G\n"), -EINVAL);
	planned("cpus = 4-4\nmemory = 2G\nallow_smt_sharing = yes\n");
	CPUS(4);
}

static void too_many_cpus(void **)
{
	machine(2, 4, 0, 8);
	refused("cpus = 9\nmemory = 2G\n", "f:2: cpus: the machine has 8, found 9");
	/* Of a VM that another makes, only those count that it may have. */
	assert_int_equal(plan_text("cpus = 9\nmemory = 2G\n"), -EINVAL);
	config.created = true;
	assert_int_equal(plan_vm(&host, &config, &plan, &err), -EINVAL);
	assert_string_equal(err.text, "f:2: cpus: control_may has 8 of the node's, found 9");
	refused("cpus = 5\nmemory = node0:2G\n",
		"f:2: cpus: 5 wanted on the nodes of its memory, free are node0 4, node1 4; "
		"0 belong to other VMs or share a core with theirs");
	planned("cpus = 5\nmemory = node0:2G\nremote_memory = allow\n");
	for (unsigned i = 0; i < 8; i++)
		host.cpu[i].owner = "vm0";
	refused("cpus = all\nmemory = 2G\n",
		"f:2: cpus: 1 wanted, free are node0 0, node1 0; 8 belong to other VMs or share a core with theirs");
}

/* ---- memory ---------------------------------------------------------------------- */

static void whole_pages_of_1g(void **)
{
	machine(1, 1, 0, 8);
	planned("memory = 3G\n");
	/* The smallest piece that holds it aligned is not the smallest. */
	expect_extent(0, GIB(4), GIB(3), 0);
	machine(1, 1, 0, 8);
	planned("memory = 3G\nleaf = 2M\n");
	expect_extent(0, GIB(4), GIB(3), 0);
	machine(1, 1, 0, 8);
	planned("memory = 2G\nleaf = 2M\n");
	expect_extent(0, MIB(2), GIB(2), 0);
	/*
	 * Not aligned anywhere: the beginning goes behind the aligned part, so that GPA 0 begins a
	 * 1 GiB page.
	 */
	machine(1, 1, 0, 8);
	host.nr_pieces = 1;
	planned("memory = 2G\n");
	expect_extent(0, GIB(1), GIB(2), 0);
	machine(1, 1, 0, 8);
	host.piece[1].start += MIB(512);
	planned("memory = 7G\n");
	expect_extent(0, GIB(5), GIB(7), 0);
	machine(1, 1, 0, 8);
	host.piece[1].start += MIB(512);
	planned("memory = 7680M\n");
	expect_extent(0, MIB(4608), MIB(7680), 0);
	assert_int_equal(plan.map.region[0].gpa, 0);
	assert_int_equal(plan.map.region[0].hpa, GIB(5));
}

static void all_memory(void **)
{
	u64 sum = 0;

	machine(2, 2, 0, 4);
	planned("cpus = 2-3\nmemory = all\n");
	assert_int_equal(plan.nr_extents, 1);
	assert_int_equal(plan.extent[0].node, 1);
	assert_true(plan.extent[0].size < GIB(4) && plan.extent[0].size >= GIB(4) - MIB(8));
	/* Of a node without CPUs, too. */
	machine(3, 2, 0, 4);
	host.cpu[4].node = host.cpu[5].node = 0;
	planned("cpus = all\nmemory = all\n");
	for (unsigned i = 0; i < plan.nr_extents; i++)
		sum += plan.extent[i].size;
	assert_true(sum > GIB(14) && sum < GIB(15));
	assert_int_equal(plan.map.region[plan.map.count - 1].node, 2);
	/* One leaves room for its tables. */
	machine(1, 2, 0, 8);
	planned("memory = all\nleaf = 4K\n");
	assert_true(plan_free(&host, 0, NULL) >= GIB(11) / 512);
}

static void not_enough_memory(void **)
{
	machine(2, 4, 0, 8);
	host.piece[1].end = GIB(5);
	refused("cpus = 0-3\nmemory = 6G\n",
		"f:3: memory: not enough: node0 6144M of 4094M free in pieces up to 3070M; node1 8192M free");
	machine(2, 4, 0, 8);
	host.piece[1].end = GIB(5);
	planned("cpus = 0-3\nmemory = 6G\nremote_memory = allow\n");
	assert_int_equal(plan.extent[plan.nr_extents - 1].node, 1);
	machine(2, 4, 0, 8);
	refused("memory = node2:1G\n", "f:2: memory: the machine has NUMA nodes 0-1, found node2");
	machine(1, 1, 0, 8);
	host.phys_bits = 33;
	refused("memory = 8G\n", "f:2: memory: its end is beyond the 33 address bits of this CPU");
}

/* CPUs of a node that never had memory take the nearest node's, as on the bare machine. */
static void node_without_memory(void **)
{
	machine(3, 2, 0, 4);
	host.nr_pieces = 3; /* none on node 2 */
	host.node_memory[2] = 0;
	planned("cpus = all\nmemory = 3G\n");
	CPUS(0, 1, 2, 3, 4, 5);
	assert_int_equal(plan.extent[plan.nr_extents - 1].node, 1);
	assert_int_equal(plan.extent[plan.nr_extents - 1].size, GIB(2));
	planned("cpus = 4-5\nmemory = 1G\n");
	assert_int_equal(plan.extent[0].node, 1);
	/* What is near is what this node says of the others, not what they say of it. */
	machine(3, 2, 0, 4);
	host.nr_pieces = 3;
	host.node_memory[2] = 0;
	host.distance[2][0] = 15;
	host.distance[1][2] = 12;
	planned("cpus = 4-5\nmemory = 1G\n");
	assert_int_equal(plan.extent[0].node, 0);
	/* A node that has memory, but none free, is another thing. */
	machine(3, 2, 0, 4);
	host.nr_pieces = 3;
	assert_int_equal(plan_text("cpus = 4-5\nmemory = 1G\n"), -ENOMEM);
}

static void identity(void **)
{
	machine(2, 2, 0, 8);
	planned("cpus = all\nmemory = 12G\nmemory_map = identity\n");
	for (unsigned i = 1; i < plan.map.count; i++) {
		assert_int_equal(plan.map.region[i].gpa, plan.map.region[i].hpa);
		assert_true(plan.map.region[i].gpa + plan.map.region[i].size <= GPA_HOLE_START ||
			    plan.map.region[i].gpa >= GPA_HOLE_END);
	}
	assert_int_equal(plan.map.region[0].gpa, 0);
	assert_int_equal(plan.map.region[0].size, MIB(1));
	/* Memory for devices, from the lowest piece. */
	assert_int_equal(plan.map.region[1].gpa, MIB(2));
	assert_int_equal(plan.map.region[1].size, MIB(128));
	assert_int_equal(gpa_map_size(&plan.map), GIB(12) + MIB(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_of_one_node),    cmocka_unit_test(cpus_of_several_nodes),
		cmocka_unit_test(pinned_cpus),         cmocka_unit_test(threads_of_a_core),
		cmocka_unit_test(too_many_cpus),       cmocka_unit_test(whole_pages_of_1g),
		cmocka_unit_test(all_memory),          cmocka_unit_test(not_enough_memory),
		cmocka_unit_test(node_without_memory), cmocka_unit_test(identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
