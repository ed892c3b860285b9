/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/memory/extent.c */
/*
 * The free list of extents: placement by example, and random sequences against a map of single
 * pages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/memory/extent.h"

static struct extent_list list;

static int reset(void **)
{
	memset(&list, 0, sizeof(list));
	return 0;
}

static int take(u64 size, u64 align, int node, u64 min, u64 max, enum extent_policy policy,
		u64 *start)
{
	struct extent_constraint c = { size, align, node, min, max, policy };
	unsigned on;

	return extent_take(&list, &c, start, &on);
}

static void test_add_merges(void **)
{
	assert_int_equal(extent_add(&list, 0x1000, 0x2000, 0), 0);
	assert_int_equal(extent_add(&list, 0x3000, 0x4000, 0), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(extent_add(&list, 0x2000, 0x3000, 0), 0);
	assert_int_equal(list.count, 1);
	/* another node: does not merge */
	assert_int_equal(extent_add(&list, 0x4000, 0x5000, 1), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(extent_add(&list, 0x4000, 0x5000, 1), -EINVAL);
	assert_int_equal(extent_add(&list, 0, 0x6000, 0), -EINVAL);
	assert_int_equal(extent_add(&list, 0x6000, 0x6000, 0), -EINVAL);
	assert_int_equal(extent_add(&list, 0x6001, 0x7000, 0), -EINVAL);
}

static void test_remove(void **)
{
	assert_int_equal(extent_add(&list, 0x10000, 0x20000, 0), 0);
	assert_int_equal(extent_add(&list, 0x30000, 0x40000, 0), 0);
	assert_int_equal(extent_remove(&list, 0x14000, 0x15000), 0);
	assert_int_equal(list.count, 3);
	assert_int_equal(extent_remove(&list, 0x1f000, 0x31000), 0);
	assert_int_equal(extent_free_bytes(&list, -1, PAGE_SIZE, NULL), 0x4000 + 0xa000 + 0xf000);
	assert_int_equal(extent_remove(&list, 0, 0x100000), 0);
	assert_int_equal(list.count, 0);
}

/* A hole in one of as many as there can be: refused, and the list stays. What makes none fits. */
static void test_remove_when_full(void **)
{
	for (u64 i = 0; i < EXTENT_MAX; i++)
		assert_int_equal(extent_add(&list, i * 0x4000, i * 0x4000 + 0x3000, 0), 0);
	assert_int_equal(extent_remove(&list, 0x5000, 0x6000), -ENOSPC);
	assert_int_equal(list.count, EXTENT_MAX);
	assert_int_equal(extent_free_bytes(&list, -1, PAGE_SIZE, NULL), EXTENT_MAX * 0x3000);
	assert_int_equal(extent_remove(&list, 0x4000, 0x5000), 0);
	assert_int_equal(extent_free_bytes(&list, -1, PAGE_SIZE, NULL),
			 EXTENT_MAX * 0x3000 - 0x1000);
}

static void test_set_node(void **)
{
	assert_int_equal(extent_add(&list, 0x10000, 0x90000, 0), 0);
	assert_int_equal(extent_set_node(&list, 0x40000, 0x100000, 1), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(extent_free_bytes(&list, 0, PAGE_SIZE, NULL), 0x30000);
	assert_int_equal(extent_free_bytes(&list, 1, PAGE_SIZE, NULL), 0x50000);
	assert_int_equal(extent_set_node(&list, 0x50000, 0x60000, 0), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(extent_set_node(&list, 0, ~0ull, 0), 0);
	assert_int_equal(list.count, 1);
}

static void test_best_fit_keeps_large_pieces(void **)
{
	u64 at, largest;

	extent_add(&list, MIB(2), MIB(512), 0);
	extent_add(&list, GIB(4), GIB(8), 0);
	/* A small piece comes out of the small range though the large one would do. */
	assert_int_equal(take(MIB(2), MIB(2), -1, 0, 0, EXTENT_BEST_FIT, &at), 0);
	assert_true(at < MIB(512));
	/* 1 GiB, aligned: out of an end of the large range, never its middle. */
	assert_int_equal(take(GIB(1), GIB(1), -1, 0, 0, EXTENT_BEST_FIT, &at), 0);
	assert_true(at == GIB(4) || at == GIB(7));
	extent_free_bytes(&list, -1, MIB(2), &largest);
	assert_int_equal(largest, GIB(3));
}

static void test_constraints(void **)
{
	u64 at;

	extent_add(&list, MIB(1), MIB(1000), 0);
	extent_add(&list, GIB(4), GIB(6), 1);
	assert_int_equal(take(GIB(1), PAGE_SIZE, 0, 0, 0, EXTENT_BEST_FIT, &at), -ENOMEM);
	assert_int_equal(take(MIB(4), MIB(2), 1, 0, 0, EXTENT_BEST_FIT, &at), 0);
	assert_true(at >= GIB(4));
	assert_int_equal(take(MIB(4), MIB(2), 1, 0, GIB(4), EXTENT_BEST_FIT, &at), -ENOMEM);
	assert_int_equal(take(MIB(4), MIB(2), -1, MIB(500), MIB(504), EXTENT_BEST_FIT, &at), 0);
	assert_int_equal(at, MIB(500));
	assert_int_equal(take(MIB(4), MIB(2), -1, MIB(600) + 1, MIB(606), EXTENT_BEST_FIT, &at), 0);
	assert_int_equal(at, MIB(602));
	assert_int_equal(take(MIB(4), MIB(4), -1, MIB(701), MIB(707), EXTENT_BEST_FIT, &at),
			 -ENOMEM);
	assert_int_equal(take(MIB(4), MIB(4), -1, MIB(701), MIB(708), EXTENT_BEST_FIT, &at), 0);
	assert_int_equal(at, MIB(704));
	assert_int_equal(take(PAGE_SIZE, PAGE_SIZE, -1, 0, 0, EXTENT_TOP, &at), 0);
	assert_true(at > GIB(5));
}

static void test_malformed(void **)
{
	u64 at;

	extent_add(&list, MIB(1), MIB(100), 0);
	assert_int_equal(take(0, PAGE_SIZE, -1, 0, 0, EXTENT_BEST_FIT, &at), -EINVAL);
	assert_int_equal(take(100, PAGE_SIZE, -1, 0, 0, EXTENT_BEST_FIT, &at), -EINVAL);
	assert_int_equal(take(PAGE_SIZE, 0, -1, 0, 0, EXTENT_BEST_FIT, &at), -EINVAL);
	assert_int_equal(take(PAGE_SIZE, 3 * PAGE_SIZE, -1, 0, 0, EXTENT_BEST_FIT, &at), -EINVAL);
	assert_int_equal(take(BIT(63), BIT(62), -1, ~0ull, 1, EXTENT_BEST_FIT, &at), -ENOMEM);
	assert_int_equal(take(~(PAGE_SIZE - 1), PAGE_SIZE, -1, 0, 0, EXTENT_BEST_FIT, &at),
			 -ENOMEM);
	assert_int_equal(take(PAGE_SIZE, BIT(63), -1, 0, 0, EXTENT_TOP, &at), -ENOMEM);
	assert_int_equal(extent_put(&list, MIB(50), MIB(1), 0), -EINVAL);
	assert_int_equal(extent_put(&list, ~0ull - 0xfff, 0x2000, 0), -EINVAL);
	assert_int_equal(extent_put(&list, MIB(200), 0, 0), -EINVAL);
}

/* However many single pages are out: giving back never fails. */
static void test_give_back_never_fails(void **)
{
	static u64 at[EXTENT_MAX * 2];
	unsigned n = 0;
	int err;

	extent_add(&list, MIB(16), MIB(64), 0);
	while (!(err = take(PAGE_SIZE, PAGE_SIZE, -1, 0, 0, EXTENT_BEST_FIT, &at[n])))
		n++;
	assert_int_equal(err, -ENOSPC);
	assert_true(n > EXTENT_MAX / 2);
	for (unsigned i = 0; i < n; i += 2)
		assert_int_equal(extent_put(&list, at[i], PAGE_SIZE, 0), 0);
	for (unsigned i = 1; i < n; i += 2)
		assert_int_equal(extent_put(&list, at[i], PAGE_SIZE, 0), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.live, 0);
	assert_int_equal(extent_free_bytes(&list, -1, PAGE_SIZE, NULL), MIB(48));
}

#define MODEL_PAGES 4096u

/* One byte per page of 16 MiB: 0 not free, else 1 + node. */
static u8 model[MODEL_PAGES];

static void check_model(void)
{
	static u8 seen[MODEL_PAGES];

	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < list.count; i++) {
		const struct extent *r = &list.range[i];

		assert_true(r->start < r->end && r->end <= MODEL_PAGES * PAGE_SIZE);
		if (i) {
			const struct extent *p = &list.range[i - 1];

			assert_true(p->end < r->start ||
				    (p->end == r->start && p->node != r->node));
		}
		for (u64 page = r->start / PAGE_SIZE; page < r->end / PAGE_SIZE; page++)
			seen[page] = (u8)(1 + r->node);
	}
	assert_memory_equal(seen, model, sizeof(model));
}

/* Does any placement satisfy the constraint? By trying all. */
static bool model_fits(const struct extent_constraint *c)
{
	u64 pages = c->size / PAGE_SIZE;

	for (u64 first = 0; first + pages <= MODEL_PAGES; first++) {
		u64 start = first * PAGE_SIZE, k;

		if (start % c->align || start < c->min_addr ||
		    (c->max_addr && start + c->size > c->max_addr))
			continue;
		for (k = 0; k < pages; k++)
			if (!model[first + k] || model[first + k] != model[first] ||
			    (c->node >= 0 && model[first + k] != 1 + c->node))
				break;
		if (k == pages)
			return true;
	}
	return false;
}

static void test_random_against_model(void **)
{
	struct {
		u64 start;
		u64 size;
		unsigned node;
	} out[64];
	unsigned n = 0;
	u64 before;

	memset(model, 0, sizeof(model));
	extent_add(&list, 16 * PAGE_SIZE, 1500 * PAGE_SIZE, 0);
	extent_add(&list, 1500 * PAGE_SIZE, 3000 * PAGE_SIZE, 1);
	extent_add(&list, 3100 * PAGE_SIZE, MODEL_PAGES * PAGE_SIZE, 1);
	memset(model + 16, 1, 1484);
	memset(model + 1500, 2, 1500);
	memset(model + 3100, 2, MODEL_PAGES - 3100);
	before = extent_free_bytes(&list, -1, PAGE_SIZE, NULL);
	check_model();
	srand(7);
	for (unsigned round = 0; round < 3000; round++) {
		if (n < ARRAY_SIZE(out) && rand() % 2) {
			struct extent_constraint c = {
				.size = PAGE_SIZE * (u64)(1 + rand() % 300),
				.align = PAGE_SIZE << rand() % 8,
				.node = rand() % 3 - 1,
				.min_addr =
					rand() % 4
						? 0
						: (u64)(rand() % (int)MODEL_PAGES) * PAGE_SIZE + 5,
				.max_addr =
					rand() % 4
						? 0
						: (u64)(rand() % (int)MODEL_PAGES) * PAGE_SIZE + 5,
				.policy = rand() % 2 ? EXTENT_BEST_FIT : EXTENT_TOP,
			};
			bool fits = model_fits(&c);
			int err = extent_take(&list, &c, &out[n].start, &out[n].node);

			assert_int_equal(err, fits ? 0 : -ENOMEM);
			if (err)
				continue;
			assert_int_equal(out[n].start % c.align, 0);
			assert_true(out[n].start >= c.min_addr);
			assert_true(!c.max_addr || out[n].start + c.size <= c.max_addr);
			for (u64 k = 0; k < c.size / PAGE_SIZE; k++) {
				assert_int_equal(model[out[n].start / PAGE_SIZE + k],
						 1 + out[n].node);
				model[out[n].start / PAGE_SIZE + k] = 0;
			}
			out[n++].size = c.size;
		} else if (n) {
			unsigned i = (unsigned)rand() % n;

			assert_int_equal(extent_put(&list, out[i].start, out[i].size, out[i].node),
					 0);
			memset(model + out[i].start / PAGE_SIZE, (int)(1 + out[i].node),
			       out[i].size / PAGE_SIZE);
			assert_int_equal(extent_put(&list, out[i].start, out[i].size, out[i].node),
					 -EINVAL);
			out[i] = out[--n];
		}
		check_model();
	}
	while (n--)
		assert_int_equal(extent_put(&list, out[n].start, out[n].size, out[n].node), 0);
	assert_int_equal(extent_free_bytes(&list, -1, PAGE_SIZE, NULL), before);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_add_merges, reset),
		cmocka_unit_test_setup(test_remove, reset),
		cmocka_unit_test_setup(test_remove_when_full, reset),
		cmocka_unit_test_setup(test_set_node, reset),
		cmocka_unit_test_setup(test_best_fit_keeps_large_pieces, reset),
		cmocka_unit_test_setup(test_constraints, reset),
		cmocka_unit_test_setup(test_malformed, reset),
		cmocka_unit_test_setup(test_give_back_never_fails, reset),
		cmocka_unit_test_setup(test_random_against_model, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
