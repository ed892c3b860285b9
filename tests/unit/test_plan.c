/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/plan.c vmm/plan_memory.c vmm/gpa_map.c vmm/config.c vmm/config_pci.c vmm/config_shape.c arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c */
/*
 * The planner: by example, and on random machines against a naive model that
 * goes page by page: what a plan takes was free, once, on the node that it
 * says, its map names each page once, and the second-level tables of the map
 * lead there by leaves as large as can be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "tests/unit/stage2_walk.h"
#include "vmm/plan.h"

static struct plan_host host, before;
static struct plan plan;
static struct vm_config config;
static struct config_error err;

/* nodes x CPUs each, APIC IDs in sequence, `gib` GiB per node from 4 GiB on; node 0 also has [2 MiB, 3 GiB). */
static void machine(unsigned nodes, unsigned cpus, unsigned smt_shift, u64 gib)
{
	memset(&host, 0, sizeof(host));
	host.nr_nodes = nodes;
	host.nr_cpus = nodes * cpus;
	host.smt_shift = smt_shift;
	host.phys_bits = 48;
	host.leaf_1g = true;
	host.piece[host.nr_pieces++] = (struct plan_piece){ MIB(2), GIB(3), 0 };
	for (unsigned n = 0; n < nodes; n++) {
		host.piece[host.nr_pieces++] = (struct plan_piece){ GIB(4 + n * gib), GIB(4 + (n + 1) * gib), n };
		host.node_memory[n] = GIB(gib + (n ? 0 : 3));
		for (unsigned k = 0; k < nodes; k++)
			host.distance[n][k] = (u8)(n == k ? 10 : 20 + (n > k ? n - k : k - n));
		for (unsigned k = 0; k < cpus; k++)
			host.cpu[n * cpus + k] = (struct plan_cpu){ .apic_id = n * cpus + k, .node = (u16)n, .online = true };
	}
}

static int plan_text(const char *keys)
{
	char text[400];

	snprintf(text, sizeof(text), "kernel = k\n%s", keys);
	if (vm_config_parse("f", text, strlen(text), &config, &err))
		fail_msg("%s", err.text);
	before = host;
	return plan_vm(&host, &config, &plan, &err);
}

static void planned(const char *keys)
{
	if (plan_text(keys))
		fail_msg("%s", err.text);
}

static void refused(const char *keys, const char *message)
{
	assert_int_equal(plan_text(keys), -EINVAL);
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

static void cpus_of_one_node(void **state)
{
	(void)state;
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

static void cpus_of_several_nodes(void **state)
{
	(void)state;
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

static void pinned_cpus(void **state)
{
	(void)state;
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

/* Threads of a core: IDs 2n and 2n+1; the machine's order has all first threads before the second ones. */
static void threads_machine(void)
{
	machine(2, 4, 1, 8);
	for (unsigned i = 0; i < 8; i++) {
		host.cpu[i].apic_id = i % 4 * 2 + i / 4;
		host.cpu[i].node = (u16)(i % 4 / 2);
	}
}

static void threads_of_a_core(void **state)
{
	(void)state;
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
	refused("cpus = 4-4\nmemory = 2G\n", "f:2: cpus: CPU 4 is a thread of the core of CPU 0, which is vm0's: "
					     "allow_smt_sharing = yes in both VM files allows that");
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

static void too_many_cpus(void **state)
{
	(void)state;
	machine(2, 4, 0, 8);
	refused("cpus = 9\nmemory = 2G\n", "f:2: cpus: the machine has 8, found 9");
	refused("cpus = 5\nmemory = node0:2G\n", "f:2: cpus: 5 wanted on the nodes of its memory, free are node0 4, node1 4; "
						 "0 belong to other VMs or share a core with theirs");
	planned("cpus = 5\nmemory = node0:2G\nremote_memory = allow\n");
	for (unsigned i = 0; i < 8; i++)
		host.cpu[i].owner = "vm0";
	refused("cpus = all\nmemory = 2G\n",
		"f:2: cpus: 1 wanted, free are node0 0, node1 0; 8 belong to other VMs or share a core with theirs");
}

/* ---- memory ---------------------------------------------------------------------- */

static void whole_pages_of_1g(void **state)
{
	(void)state;
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
	/* Not aligned anywhere: the beginning goes behind the aligned part, so that GPA 0 begins a 1 GiB page. */
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

static void all_memory(void **state)
{
	u64 sum = 0;

	(void)state;
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

static void not_enough_memory(void **state)
{
	(void)state;
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
static void node_without_memory(void **state)
{
	(void)state;
	machine(3, 2, 0, 4);
	host.nr_pieces = 3; /* none on node 2 */
	host.node_memory[2] = 0;
	planned("cpus = all\nmemory = 3G\n");
	CPUS(0, 1, 2, 3, 4, 5);
	assert_int_equal(plan.extent[plan.nr_extents - 1].node, 1);
	assert_int_equal(plan.extent[plan.nr_extents - 1].size, GIB(2));
	planned("cpus = 4-5\nmemory = 1G\n");
	assert_int_equal(plan.extent[0].node, 1);
	/* A node that has memory, but none free, is another thing. */
	machine(3, 2, 0, 4);
	host.nr_pieces = 3;
	assert_int_equal(plan_text("cpus = 4-5\nmemory = 1G\n"), -EINVAL);
}

static void identity(void **state)
{
	(void)state;
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

/* ---- against a model ------------------------------------------------------------- */

static u32 seed;

static u32 rnd(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (u32)((u64)seed * n >> 32);
}

static void random_machine(void)
{
	u64 at = MIB(2) * (1 + rnd(4));

	machine(1 + rnd(4), 1 + rnd(4), rnd(2), 1);
	host.nr_pieces = 0;
	memset(host.node_memory, 0, sizeof(host.node_memory));
	host.leaf_1g = rnd(2);
	for (unsigned i = rnd(12); i; i--) {
		struct plan_piece *p = &host.piece[host.nr_pieces];

		p->start = at;
		p->end = at + PAGE_SIZE_2M * (1 + rnd(rnd(2) ? 2000 : 8));
		p->node = rnd(host.nr_nodes);
		at = p->end + PAGE_SIZE_2M * rnd(rnd(3) ? 8 : 1500);
		host.node_memory[p->node] += p->end - p->start;
		host.nr_pieces++;
	}
	for (unsigned i = 0; i < host.nr_cpus; i++)
		if (!rnd(5))
			host.cpu[i].owner = "other";
}

/* Node of a free 2 MiB page before the plan, or -1. */
static int free_node(u64 page)
{
	for (unsigned i = 0; i < before.nr_pieces; i++)
		if (page >= before.piece[i].start && page < before.piece[i].end)
			return (int)before.piece[i].node;
	return -1;
}

static void check_memory(void)
{
	static u8 taken[1 << 16], mapped[1 << 16];
	u64 ram = 0, low = 0;

	memset(taken, 0, sizeof(taken));
	memset(mapped, 0, sizeof(mapped));
	for (unsigned i = 0; i < plan.nr_extents; i++)
		for (u64 p = plan.extent[i].base; p < plan.extent[i].base + plan.extent[i].size; p += PAGE_SIZE_2M) {
			assert_int_equal(free_node(p), plan.extent[i].node);
			assert_false(taken[p / PAGE_SIZE_2M]++);
		}
	for (unsigned i = 0; i < plan.map.count; i++) {
		const struct gpa_region *r = &plan.map.region[i];

		if (config.memory_map == VM_MAP_IDENTITY && i == 0) {
			low = r->size;
			continue;
		}
		for (u64 o = 0; o < r->size; o += PAGE_SIZE_2M, ram += PAGE_SIZE_2M) {
			u64 hpa = r->hpa + o;

			assert_int_equal(r->node, free_node(hpa));
			assert_true(taken[hpa / PAGE_SIZE_2M]);
			assert_false(mapped[hpa / PAGE_SIZE_2M]++);
			assert_true(config.memory_map != VM_MAP_IDENTITY || hpa == r->gpa + o);
		}
		assert_int_equal((r->gpa ^ r->hpa) & (PAGE_SIZE_2M - 1), 0);
		assert_true(r->gpa + r->size <= GPA_HOLE_START || r->gpa >= GPA_HOLE_END);
	}
	assert_true(!config.memory || ram == config.memory);
	assert_true(low || plan.map.region[0].gpa == 0);
	/* What is left is what was there less what was taken. */
	for (unsigned i = 0; i < host.nr_pieces; i++)
		for (u64 p = host.piece[i].start; p < host.piece[i].end; p += PAGE_SIZE_2M)
			assert_true(free_node(p) == (int)host.piece[i].node && !taken[p / PAGE_SIZE_2M]);
}

static void *table_alloc(void)
{
	return memset(aligned_alloc(PAGE_SIZE, PAGE_SIZE), 0, PAGE_SIZE);
}

static u64 table_hpa(const void *page)
{
	return (uintptr_t)page;
}

static void *table_virt(u64 hpa)
{
	return (void *)(uintptr_t)hpa;
}

/* The largest leaf for a page of a region, found by trying: does the aligned block around it lie inside, alike aligned? */
static enum stage2_leaf leaf_of(const struct gpa_region *r, u64 gpa, enum stage2_leaf max)
{
	for (enum stage2_leaf leaf = max; leaf > LEAF_4K; leaf--) {
		u64 size = leaf == LEAF_1G ? GIB(1) : MIB(2), start = ALIGN_DOWN(gpa, size);

		if (start >= r->gpa && start + size <= r->gpa + r->size && !((r->gpa ^ r->hpa) & (size - 1)))
			return leaf;
	}
	return LEAF_4K;
}

static void check_tables(const struct stage2_format *format)
{
	const struct stage2_mem mem = { table_alloc, free, table_hpa, table_virt };
	enum stage2_leaf max = host.leaf_1g ? LEAF_1G : LEAF_2M;
	struct stage2_mapping m;
	struct stage2 s;
	u64 bytes = 0;

	max = MIN(max, (enum stage2_leaf)config.leaf);
	assert_int_equal(stage2_init(&s, format, &mem, max), 0);
	for (unsigned i = 0; i < plan.map.count; i++) {
		const struct gpa_region *r = &plan.map.region[i];

		assert_int_equal(stage2_map(&s, r->gpa, r->hpa, r->size, STAGE2_RWX, MEMTYPE_WB), 0);
	}
	for (unsigned i = 0; i < plan.map.count; i++) {
		const struct gpa_region *r = &plan.map.region[i];

		for (u64 o = 0; o < r->size; o += r->size < MIB(2) ? PAGE_SIZE : MIB(2)) {
			u64 at = o + rnd(MIN(r->size, MIB(2)) / PAGE_SIZE) * PAGE_SIZE;

			at = at < r->size ? at : o;
			assert_int_equal(stage2_lookup(&s, r->gpa + at, &m), 0);
			assert_int_equal(m.hpa, r->hpa + at);
			assert_int_equal(m.leaf, leaf_of(r, r->gpa + at, max));
		}
		if (!i || r->gpa > plan.map.region[i - 1].gpa + plan.map.region[i - 1].size)
			assert_int_equal(i ? stage2_lookup(&s, r->gpa - PAGE_SIZE, &m) : -ENOENT, -ENOENT);
	}
	bytes = s.leaves[LEAF_4K] * KIB(4) + s.leaves[LEAF_2M] * MIB(2) + s.leaves[LEAF_1G] * GIB(1);
	assert_int_equal(bytes, gpa_map_size(&plan.map));
	assert_true(config.leaf == VM_LEAF_4K || s.leaves[LEAF_4K] <= MIB(1) / KIB(4));
	stage2_destroy(&s);
}

/* Local: in proportion to the CPUs but for rounding, unless a CPU's node has no memory. */
static void check_local(void)
{
	u64 on[PLAN_NODES] = { 0 };
	unsigned cpus[PLAN_NODES] = { 0 };

	for (unsigned i = 0; i < plan.nr_cpus; i++) {
		cpus[host.cpu[plan.cpu[i]].node]++;
		if (!before.node_memory[host.cpu[plan.cpu[i]].node])
			return;
	}
	for (unsigned i = 0; i < plan.map.count; i++)
		on[plan.map.region[i].node] += plan.map.region[i].size;
	for (unsigned n = 0; n < host.nr_nodes; n++) {
		u64 part = config.memory * cpus[n] / plan.nr_cpus;

		assert_true(on[n] + MIB(2) * PLAN_NODES >= part && on[n] <= part + MIB(2) * PLAN_NODES);
	}
}

static void check_cpus(void)
{
	for (unsigned i = 0; i < plan.nr_cpus; i++) {
		const struct plan_cpu *a = &before.cpu[plan.cpu[i]];

		assert_null(a->owner);
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(plan.cpu[i], plan.cpu[k]);
		for (unsigned k = 0; k < before.nr_cpus; k++)
			assert_false(before.cpu[k].owner &&
				     before.cpu[k].apic_id >> host.smt_shift == a->apic_id >> host.smt_shift);
	}
}

static void random_plans(void **state)
{
	unsigned good = 0, bad = 0, split = 0;

	(void)state;
	for (seed = 1; seed < 40000 * 7; seed = (good + bad) * 7 + 1) {
		static const char *const leaf[] = { "4K", "2M", "1G" };
		bool remote = !rnd(4), same = !rnd(4);
		char keys[200];

		random_machine();
		snprintf(keys, sizeof(keys), "cpus = %u\nmemory = %uM\nleaf = %s\n%s%s", 1 + rnd(6),
			 2 * (16 + rnd(rnd(2) ? 2000 : 40)), leaf[rnd(3)], remote ? "remote_memory = allow\n" : "",
			 same ? "memory_map = identity\n" : "");
		if (plan_text(keys)) {
			bad++;
			/* Where any memory would do it is refused only when there is not so much. */
			if (remote && !same && strstr(err.text, "memory: not enough")) {
				u64 sum = 0;

				for (unsigned n = 0; n < before.nr_nodes; n++)
					sum += plan_free(&before, n, NULL);
				assert_true(sum < config.memory || plan.nr_extents == PLAN_EXTENTS);
			}
			continue;
		}
		good++;
		split += plan.nr_extents > 1;
		assert_int_equal(plan.nr_cpus, config.cpus);
		check_cpus();
		check_memory();
		if (!remote && !same)
			check_local();
		if (good % 64 == 0)
			check_tables(good % 128 ? &ept_format : &npt_format);
	}
	/* The test has seen both. */
	assert_true(good > 5000 && bad > 5000 && split > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_of_one_node),  cmocka_unit_test(cpus_of_several_nodes), cmocka_unit_test(pinned_cpus),
		cmocka_unit_test(threads_of_a_core), cmocka_unit_test(too_many_cpus),	      cmocka_unit_test(whole_pages_of_1g),
		cmocka_unit_test(all_memory),	     cmocka_unit_test(not_enough_memory),     cmocka_unit_test(node_without_memory),
		cmocka_unit_test(identity),	     cmocka_unit_test(random_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
