/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/plan/plan.c vmm/plan/plan_memory.c vmm/memory/gpa_map.c @tests/unit/vm_files.sources arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c lib/span.c */
/*
 * The planner on random machines, against a naive model that goes page by
 * page: what a plan takes was free, once, on the node that it says, its map
 * names each page once, and the second-level tables of the map lead there by
 * leaves as large as can be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/plan_machine.h"
#include "tests/unit/stage2_walk.h"

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
		for (u64 p = plan.extent[i].base; p < plan.extent[i].base + plan.extent[i].size;
		     p += PAGE_SIZE_2M) {
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
			assert_true(free_node(p) == (int)host.piece[i].node &&
				    !taken[p / PAGE_SIZE_2M]);
}

static void *table_alloc(int)
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

/*
 * The largest leaf for a page of a region, found by trying: does the aligned block around it lie
 * inside, alike aligned?
 */
static enum stage2_leaf leaf_of(const struct gpa_region *r, u64 gpa, enum stage2_leaf max)
{
	for (enum stage2_leaf leaf = max; leaf > LEAF_4K; leaf--) {
		u64 size = leaf == LEAF_1G ? GIB(1) : MIB(2), start = ALIGN_DOWN(gpa, size);

		if (start >= r->gpa && start + size <= r->gpa + r->size &&
		    !((r->gpa ^ r->hpa) & (size - 1)))
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
	assert_int_equal(stage2_init(&s, format, &mem, max, -1), 0);
	for (unsigned i = 0; i < plan.map.count; i++) {
		const struct gpa_region *r = &plan.map.region[i];

		assert_int_equal(stage2_map(&s, r->gpa, r->hpa, r->size, STAGE2_RWX, MEMTYPE_WB),
				 0);
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
			assert_int_equal(i ? stage2_lookup(&s, r->gpa - PAGE_SIZE, &m) : -ENOENT,
					 -ENOENT);
	}
	bytes = s.leaves[LEAF_4K] * KIB(4) + s.leaves[LEAF_2M] * MIB(2) +
		s.leaves[LEAF_1G] * GIB(1);
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

		assert_true(on[n] + MIB(2) * PLAN_NODES >= part &&
			    on[n] <= part + MIB(2) * PLAN_NODES);
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
				     before.cpu[k].apic_id >> host.smt_shift ==
					     a->apic_id >> host.smt_shift);
	}
}

static void random_plans(void **)
{
	unsigned good = 0, bad = 0, split = 0;

	for (seed = 1; seed < 40000 * 7; seed = (good + bad) * 7 + 1) {
		static const char *const leaf[] = { "4K", "2M", "1G" };
		bool remote = !rnd(4), same = !rnd(4);
		char keys[200];

		random_machine();
		snprintf(keys, sizeof(keys), "cpus = %u\nmemory = %uM\nleaf = %s\n%s%s", 1 + rnd(6),
			 2 * (16 + rnd(rnd(2) ? 2000 : 40)), leaf[rnd(3)],
			 remote ? "remote_memory = allow\n" : "",
			 same ? "memory_map = identity\n" : "");
		if (plan_text(keys)) {
			bad++;
			/*
			 * Where any memory would do it is refused only when there is not so much.
			 */
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
		cmocka_unit_test(random_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
