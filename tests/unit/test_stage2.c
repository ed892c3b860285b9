/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/stage2/stage2.c arch/x86_64/stage2/find.c arch/x86_64/stage2/formats.c */
/*
 * Second-level tables: leaf sizes, splits, accounting, the bits of both entry
 * formats (SDM vol. 3, tables 29-1 to 29-6; APM vol. 2, 5.4 and 15.25), and
 * random maps and unmaps against a flat model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "tests/unit/stage2_walk.h"

static int budget; /* pages that may still be allocated */
static int live;
static unsigned on_node[4]; /* tables that were asked for there */

static void *page_alloc(int node)
{
	if (budget-- <= 0)
		return NULL;
	live++;
	if (node >= 0)
		on_node[node]++;
	return memset(aligned_alloc(4096, 4096), 0, 4096);
}

static void page_free(void *page)
{
	live--;
	free(page);
}

/* The model's HPA of a table is its address: ASLR keeps it below 2^47. */
static u64 to_hpa(const void *page)
{
	return (u64)(uintptr_t)page;
}

static void *to_virt(u64 pa)
{
	return (void *)(uintptr_t)pa;
}

static const struct stage2_mem mem = { page_alloc, page_free, to_hpa, to_virt };

static int setup(void **)
{
	budget = 1 << 20;
	live = 0;
	return 0;
}

static void init(struct stage2 *s, const struct stage2_format *fmt, enum stage2_leaf max)
{
	assert_int_equal(stage2_init(s, fmt, &mem, max, -1), 0);
}

static void finish(struct stage2 *s)
{
	stage2_destroy(s);
	assert_int_equal(live, 0);
}

static void leaf_bits(void **)
{
	/* EPT: R 0, W 1, X 2, type 5:3 (WB = 6), "ignore PAT" 6 never, page size 7. */
	assert_true(ept_format.leaf(0x200000, LEAF_2M, STAGE2_RWX, MEMTYPE_WB) ==
		    (0x200000 | 0x80 | 0x30 | 7));
	assert_true(ept_format.leaf(0x3000, LEAF_4K, STAGE2_R | STAGE2_X, MEMTYPE_UC) ==
		    (0x3000 | 5));
	assert_true(ept_format.table(0x5000, 1) == (0x5000 | 7));
	/* NPT: P 0, W 1, U 2, PWT 3, PCD 4, A 5, D 6, PS 7, NX 63. */
	assert_true(npt_format.leaf(0x40000000, LEAF_1G, STAGE2_RWX, MEMTYPE_WB) ==
		    (0x40000000 | 0x80 | 0x60 | 7));
	assert_true(npt_format.leaf(0x3000, LEAF_4K, STAGE2_R, MEMTYPE_UC) ==
		    (1ull << 63 | 0x3000 | 0x60 | 0x18 | 5));
	assert_true(npt_format.leaf(0x3000, LEAF_4K, STAGE2_RWX, MEMTYPE_UC_MINUS) ==
		    (0x3000 | 0x60 | 0x10 | 7));
}

static void round_trip(void **)
{
	static const struct stage2_format *const fmt[] = { &ept_format, &npt_format };
	static const enum memtype type[] = { MEMTYPE_UC, MEMTYPE_WT, MEMTYPE_WB };

	for (unsigned f = 0; f < 2; f++)
		for (unsigned prot = 1; prot < 8; prot += 2) /* readable ones: NPT has no other */
			for (unsigned t = 0; t < 3; t++) {
				u64 e = fmt[f]->leaf(0x1000, LEAF_4K, prot, type[t]);

				assert_true(fmt[f]->present(e));
				assert_int_equal(fmt[f]->prot(e), prot);
				assert_int_equal(fmt[f]->type(e), type[t]);
			}
	/* EPT has each of the three by itself. */
	for (unsigned prot = 0; prot < 8; prot++)
		assert_int_equal(
			ept_format.prot(ept_format.leaf(0x1000, LEAF_4K, prot, MEMTYPE_WB)), prot);
}

/* Tables come from where their user says, each as it is made. */
static void near(void **)
{
	struct stage2 s;

	memset(on_node, 0, sizeof(on_node));
	assert_int_equal(stage2_init(&s, &npt_format, &mem, LEAF_2M, 3), 0);
	assert_int_equal(stage2_map(&s, 0, 0, MIB(2), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_true(on_node[3] == 3 && s.tables == 3);
	s.node = 1;
	assert_int_equal(stage2_map(&s, GIB(1), GIB(1), MIB(2), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(&s, MIB(2), MIB(2), MIB(2), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_true(on_node[3] == 3 && on_node[1] == 1);
	s.node = 2;
	assert_int_equal(stage2_unmap(&s, MIB(2), KIB(4)), 0);
	assert_int_equal(on_node[2], 1);
	finish(&s);
}

static void largest_leaves(void **)
{
	struct stage2 s;
	struct stage2_mapping m;

	init(&s, &ept_format, LEAF_1G);
	/* 2 MiB short of 1 GiB alignment at both ends, with a page of 4 KiB more. */
	assert_int_equal(stage2_map(&s, GIB(1) - MIB(2), GIB(5) - MIB(2),
				    MIB(2) + GIB(2) + MIB(4) + KIB(4), STAGE2_RWX, MEMTYPE_WB),
			 0);
	assert_int_equal(s.leaves[LEAF_1G], 2);
	assert_int_equal(s.leaves[LEAF_2M], 3);
	assert_int_equal(s.leaves[LEAF_4K], 1);
	assert_int_equal(stage2_lookup(&s, GIB(2) + 0x1234, &m), 0);
	assert_true(m.hpa == GIB(6) + 0x1234);
	assert_int_equal(m.leaf, LEAF_1G);
	assert_int_equal(stage2_lookup(&s, GIB(1) - MIB(2) - 1, &m), -ENOENT);
	assert_int_equal(stage2_lookup(&s, GIB(3) + MIB(4) + KIB(4), &m), -ENOENT);
	finish(&s);
}

/*
 * A BAR of an accelerator: a leaf for each of its GiB, and around a table of messages in it no more
 * of others than that takes.
 */
static void large_bars(void **)
{
	static const struct stage2_format *const formats[] = { &ept_format, &npt_format };

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(formats); i++) {
		u64 at = BIT(40) + i % 2 * GIB(64), size = i % 2 ? GIB(64) : GIB(256);
		struct stage2 s;

		init(&s, formats[i / 2], LEAF_1G);
		assert_int_equal(
			stage2_map(&s, at, at, size, STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS), 0);
		assert_true(s.leaves[LEAF_1G] == size / GIB(1) && !s.leaves[LEAF_2M] &&
			    !s.leaves[LEAF_4K]);
		assert_int_equal(s.tables, 2);
		assert_int_equal(stage2_unmap(&s, at + GIB(2) + MIB(2), KIB(64)), 0);
		assert_true(s.leaves[LEAF_1G] == size / GIB(1) - 1 && s.leaves[LEAF_2M] == 511 &&
			    s.leaves[LEAF_4K] == 512 - 16);
		finish(&s);
	}
}

static void congruence_decides(void **)
{
	struct stage2 s;

	init(&s, &npt_format, LEAF_1G);
	/* GPA and HPA differ modulo 2 MiB: nothing but 4 KiB leaves fits. */
	assert_int_equal(stage2_map(&s, 0, MIB(2) + KIB(4), MIB(2), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_int_equal(s.leaves[LEAF_4K], 512);
	assert_int_equal(s.leaves[LEAF_2M], 0);
	finish(&s);
	init(&s, &npt_format, LEAF_2M);
	assert_int_equal(stage2_map(&s, 0, 0, GIB(1), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_int_equal(s.leaves[LEAF_2M], 512);
	assert_int_equal(s.leaves[LEAF_1G], 0);
	finish(&s);
}

/* What is found is what a CPU finds, for as far as is said and no further. */
static void found(void **)
{
	static const struct {
		u64 at;
		u64 length;
		u64 hpa;
		enum memtype type;
	} want[] = {
		{ 0, GIB(1), 0, 0 },
		{ GIB(1) + 0x1234, GIB(1) - 0x1234, GIB(5) + 0x1234, MEMTYPE_WB },
		{ GIB(2) + 0x1fffff, 1, GIB(9) + 0x1fffff, MEMTYPE_UC },
		{ GIB(2) + MIB(2), KIB(4), GIB(9) + MIB(2), MEMTYPE_UC },
		{ GIB(2) + MIB(2) + KIB(4), KIB(4), 0, 0 },
		{ GIB(2) + MIB(4), MIB(2), 0, 0 },
		{ BIT(39) + 1, BIT(39) - 1, 0, 0 },
	};
	static const struct stage2_format *const formats[] = { &ept_format, &npt_format };

	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		struct stage2 s;
		struct stage2_part part;

		init(&s, formats[i], LEAF_1G);
		assert_int_equal(stage2_map(&s, GIB(1), GIB(5), GIB(1), STAGE2_RWX, MEMTYPE_WB), 0);
		assert_int_equal(
			stage2_map(&s, GIB(2), GIB(9), MIB(2) + KIB(4), STAGE2_RWX, MEMTYPE_UC), 0);
		for (unsigned n = 0; n < ARRAY_SIZE(want); n++) {
			assert_int_equal(stage2_find(&s, want[n].at, &part), want[n].length);
			assert_int_equal(part.mapped, want[n].hpa != 0);
			assert_true(part.hpa == want[n].hpa &&
				    (!part.mapped || part.type == want[n].type));
		}
		finish(&s);
	}
}

/* Tables are written back before what points to them, and what points to them after. */
static const struct stage2 *watched;
static u64 *seen[8];
static unsigned nr_seen;

static void note_written(const void *from, size_t size)
{
	u64 e;

	if (size == PAGE_SIZE) {
		assert_true(nr_seen < ARRAY_SIZE(seen));
		seen[nr_seen++] = (u64 *)(uintptr_t)from;
		return;
	}
	assert_int_equal(size, 8);
	e = *(const u64 *)from;
	for (unsigned i = 0; i < nr_seen; i++)
		if ((e & PTE_ADDR) == watched->mem->to_hpa(seen[i]))
			seen[i] = NULL;
}

static void written_back(void **)
{
	struct stage2 s;

	init(&s, &ept_format, LEAF_1G);
	watched = &s;
	s.written = note_written;
	assert_int_equal(stage2_map(&s, 0, GIB(4), GIB(1), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_int_equal(stage2_unmap(&s, KIB(4), KIB(4)), 0);
	/* A table on the way, two of what was split; each had an entry after it. */
	assert_int_equal(nr_seen, 3);
	for (unsigned i = 0; i < nr_seen; i++)
		assert_null(seen[i]);
	finish(&s);
}

static void bad_ranges(void **)
{
	struct stage2 s;
	struct stage2_mapping m;

	init(&s, &ept_format, LEAF_1G);
	assert_int_equal(stage2_map(&s, 1, 0, KIB(4), STAGE2_RWX, MEMTYPE_WB), -EINVAL);
	assert_int_equal(stage2_map(&s, 0, 8, KIB(4), STAGE2_RWX, MEMTYPE_WB), -EINVAL);
	assert_int_equal(stage2_map(&s, BIT(48) - KIB(4), 0, KIB(8), STAGE2_RWX, MEMTYPE_WB),
			 -EINVAL);
	assert_int_equal(stage2_map(&s, ~0ull << 12, 0, KIB(8), STAGE2_RWX, MEMTYPE_WB), -EINVAL);
	assert_int_equal(stage2_unmap(&s, BIT(48), KIB(4)), -EINVAL);
	assert_int_equal(stage2_lookup(&s, BIT(48), &m), -ENOENT);
	assert_int_equal(stage2_map(&s, MIB(2), 0, MIB(2), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(&s, MIB(2) + KIB(4), 0, KIB(4), STAGE2_RWX, MEMTYPE_WB),
			 -EEXIST);
	finish(&s);
}

static void unmap_splits(void **)
{
	struct stage2 s;
	struct stage2_mapping m;

	init(&s, &ept_format, LEAF_1G);
	assert_int_equal(stage2_map(&s, 0, GIB(4), GIB(1), STAGE2_R | STAGE2_W, MEMTYPE_WT), 0);
	assert_int_equal(stage2_unmap(&s, MIB(6) + KIB(8), KIB(4)), 0);
	assert_int_equal(s.leaves[LEAF_1G], 0);
	assert_int_equal(s.leaves[LEAF_2M], 511);
	assert_int_equal(s.leaves[LEAF_4K], 511);
	assert_int_equal(stage2_lookup(&s, MIB(6) + KIB(8), &m), -ENOENT);
	assert_int_equal(stage2_lookup(&s, MIB(6) + KIB(12), &m), 0);
	assert_true(m.hpa == GIB(4) + MIB(6) + KIB(12));
	assert_int_equal(m.prot, STAGE2_R | STAGE2_W);
	assert_int_equal(m.type, MEMTYPE_WT);
	assert_int_equal(stage2_unmap(&s, 0, GIB(1)), 0);
	/*
	 * Empty tables are kept until every CPU has flushed, and are all absent entries to one that
	 * has not.
	 */
	assert_int_equal(live, 4);
	for (u64 *t = s.retired; t; t = (u64 *)(uintptr_t)t[0])
		for (unsigned i = 0; i < 512; i++)
			assert_false(s.fmt->present(t[i]));
	stage2_reap(&s);
	assert_int_equal(s.tables, 1); /* the root stays */
	assert_int_equal(live, 1);
	finish(&s);
}

/* Of 1 GiB, 2 MiB and 4 KiB only the last is executable, until the guest fetches from it. */
static void small_exec(void **)
{
	static const struct stage2_format *const fmt[] = { &ept_format, &npt_format };
	static const struct {
		u64 gpa;
		unsigned leaf;
		unsigned prot;
	} after[] = {
		{ MIB(4) - 1, LEAF_2M, STAGE2_R | STAGE2_W },
		{ MIB(4), LEAF_4K, STAGE2_RWX },
		{ MIB(6) - 1, LEAF_4K, STAGE2_RWX },
		{ MIB(6), LEAF_2M, STAGE2_R | STAGE2_W },
		{ GIB(1), LEAF_2M, STAGE2_R | STAGE2_W },
		{ GIB(1) + MIB(2), LEAF_4K, STAGE2_RWX },
	};
	struct stage2_mapping m;
	struct stage2 s;

	for (unsigned f = 0; f < ARRAY_SIZE(fmt); f++) {
		init(&s, fmt[f], LEAF_1G);
		s.small_exec = true;
		assert_int_equal(stage2_map(&s, 0, GIB(4), GIB(1) + MIB(2) + KIB(4), STAGE2_RWX,
					    MEMTYPE_WB),
				 0);
		assert_int_equal(stage2_lookup(&s, MIB(5), &m), 0);
		assert_true(m.leaf == LEAF_1G && m.prot == (STAGE2_R | STAGE2_W));
		budget = 1; /* for two tables */
		assert_int_equal(stage2_execute(&s, MIB(5)), -ENOMEM);
		budget = 1;
		assert_int_equal(stage2_execute(&s, MIB(5)), 0);
		for (unsigned i = 0; i < ARRAY_SIZE(after); i++) {
			assert_int_equal(stage2_lookup(&s, after[i].gpa, &m), 0);
			assert_int_equal(m.leaf, after[i].leaf);
			assert_int_equal(m.prot, after[i].prot);
			assert_true(m.hpa == GIB(4) + after[i].gpa && m.type == MEMTYPE_WB);
		}
		assert_int_equal(s.leaves[LEAF_4K], 513);
		/* What a cut has split is so small that it may be executed, once it is. */
		budget = 9;
		assert_int_equal(stage2_unmap(&s, GIB(1), KIB(4)), 0);
		assert_int_equal(stage2_lookup(&s, GIB(1) + KIB(8), &m), 0);
		assert_int_equal(m.prot, STAGE2_R | STAGE2_W);
		assert_int_equal(stage2_execute(&s, GIB(1) + KIB(8)), 0);
		assert_int_equal(stage2_lookup(&s, GIB(1) + KIB(8), &m), 0);
		assert_int_equal(m.prot, STAGE2_RWX);
		assert_int_equal(stage2_execute(&s, GIB(1)), -ENOENT);
		assert_int_equal(stage2_execute(&s, GIB(512)), -ENOENT);
		finish(&s);
	}
}

static void out_of_memory(void **)
{
	for (int pages = 0; pages < 6; pages++) {
		struct stage2 s;
		int err;

		budget = pages;
		err = stage2_init(&s, &npt_format, &mem, LEAF_1G, -1);
		if (!err)
			err = stage2_map(&s, 0, KIB(4), KIB(4), STAGE2_RWX, MEMTYPE_WB);
		/* Root and three lower levels. */
		assert_int_equal(err, pages < 4 ? -ENOMEM : 0);
		finish(&s);
	}
}

/* 4 MiB of pages as a flat array. */
static void random_against_model(void **)
{
	enum { PAGES = 1024 };
	static u64 model[PAGES];
	struct stage2 s;

	srand(20261121);
	memset(model, 0, sizeof(model));
	init(&s, &ept_format, LEAF_2M);
	for (unsigned round = 0; round < 3000; round++) {
		unsigned first = (unsigned)rand() % PAGES,
			 n = 1 + (unsigned)rand() % (round % 3 ? 20 : PAGES);
		u64 to = GIB(1) + (u64)(rand() % 4) * KIB(4);
		bool clash = false;

		n = MIN(n, PAGES - first);
		for (unsigned i = first; i < first + n; i++)
			clash = clash || model[i];
		if (!clash) {
			assert_int_equal(stage2_map(&s, first * PAGE_SIZE, to + first * PAGE_SIZE,
						    n * PAGE_SIZE, STAGE2_RWX, MEMTYPE_WB),
					 0);
			for (unsigned i = first; i < first + n; i++)
				model[i] = to + i * PAGE_SIZE;
		} else {
			assert_int_equal(stage2_unmap(&s, first * PAGE_SIZE, n * PAGE_SIZE), 0);
			for (unsigned i = first; i < first + n; i++)
				model[i] = 0;
		}
		for (unsigned i = 0; i < PAGES; i++) {
			struct stage2_mapping m = { 0 };
			int err = stage2_lookup(&s, i * PAGE_SIZE, &m);

			assert_int_equal(err, model[i] ? 0 : -ENOENT);
			assert_true(m.hpa == model[i]);
		}
	}
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(leaf_bits, setup),
		cmocka_unit_test_setup(round_trip, setup),
		cmocka_unit_test_setup(near, setup),
		cmocka_unit_test_setup(largest_leaves, setup),
		cmocka_unit_test_setup(congruence_decides, setup),
		cmocka_unit_test_setup(large_bars, setup),
		cmocka_unit_test_setup(found, setup),
		cmocka_unit_test_setup(written_back, setup),
		cmocka_unit_test_setup(bad_ranges, setup),
		cmocka_unit_test_setup(unmap_splits, setup),
		cmocka_unit_test_setup(small_exec, setup),
		cmocka_unit_test_setup(out_of_memory, setup),
		cmocka_unit_test_setup(random_against_model, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
