/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/bench/tlb_model.c */
/*
 * The model of TLBs and page walks of `make bench-walk`: references of single
 * walks by the leaves, natively and nested; what uniformly random accesses must
 * miss; which entries a flush takes away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/bench/tlb_model.h"

#define GIB 0x40000000ull
/* the second level's tables; the guest's are where it maps its address 0: at 1 GiB */
#define NESTED (2 * GIB)
#define TABLES 64
#define DATA 0x8000000ull /* the guest's physical address of what it accesses */

static uint64_t memory[2][TABLES][512];
static unsigned used[2];
static struct tlb_model model;
static struct tlb_space space;

static uint64_t *at(uint64_t address)
{
	unsigned which = address >= NESTED;
	uint64_t guest = space.n_cr3 ? GIB : 0;
	uint64_t offset = address - (which ? NESTED : guest);

	return offset < sizeof(memory[0]) ? &memory[which][0][0] + offset / 8 : NULL;
}

uint64_t tlb_read(uint64_t address)
{
	uint64_t *entry = at(address);

	return entry ? *entry : 0;
}

/* which: 0 the guest's tables, whose addresses are the guest's, 1 the second level's. */
static uint64_t new_table(unsigned which)
{
	assert_true(used[which] < TABLES);
	return (which ? NESTED : 0) + used[which]++ * 4096ull;
}

static void map(unsigned which, unsigned levels, uint64_t address, unsigned leaf, uint64_t target,
		uint64_t flags)
{
	uint64_t table = which ? NESTED : 0;

	for (unsigned level = levels; --level > leaf;) {
		uint64_t *entry = &memory[which][(table - (which ? NESTED : 0)) / 4096]
					 [address >> (12 + 9 * level) & 511];

		if (!*entry)
			*entry = new_table(which) | 1;
		table = *entry & ~0xfffull;
	}
	memory[which][(table - (which ? NESTED : 0)) / 4096][address >> (12 + 9 * leaf) & 511] =
		target | flags | (leaf ? 0x80 : 0) | 1;
}

static void start(unsigned levels, bool is_guest, unsigned force)
{
	memset(memory, 0, sizeof(memory));
	memset(&model, 0, sizeof(model));
	memset(used, 0, sizeof(used));
	model.force = force;
	space = (struct tlb_space){ .asid = is_guest, .levels = levels, .n_levels = 4 };
	space.cr3 = new_table(0);
	if (is_guest)
		space.n_cr3 = new_table(1);
}

/* The guest's addresses from 0 to 1 GiB at the machine's from 1 GiB on, by leaves of this size. */
static void second_level(unsigned leaf)
{
	uint64_t size = 1ull << (12 + 9 * leaf), end = leaf == PAGE_4K ? 0x100000 : GIB;

	for (uint64_t address = 0; address < end; address += size)
		map(1, 4, address, leaf, GIB + address, 0);
	for (uint64_t address = DATA; leaf == PAGE_4K && address < DATA + 0x800000; address += size)
		map(1, 4, address, leaf, GIB + address, 0);
}

/* Whether it cost a walk. */
static bool access(uint64_t address)
{
	struct tlb_walk walk = { .made = false };

	if (tlb_hit(&model, space.asid, address))
		return false;
	tlb_walk(&walk, &space, address);
	assert_true(walk.made);
	tlb_miss(&model, &space, &walk, address);
	return true;
}

static void test_one_walk(void **)
{
	static const unsigned references[PAGE_SIZES][PAGE_SIZES + 1] = {
		/* second level: 4K, 2M, 1G, none */
		{ 24, 19, 14, 4 },
		{ 19, 15, 11, 3 },
		{ 14, 11, 8, 2 },
	};

	for (unsigned guest = 0; guest < PAGE_SIZES; guest++) {
		for (unsigned host = 0; host <= PAGE_SIZES; host++) {
			for (unsigned force = 0; force < 2; force++) {
				start(4, host < PAGE_SIZES, force ? host + 1 : 0);
				if (host < PAGE_SIZES)
					second_level(force ? PAGE_2M : host);
				map(0, 4, 0x7f0000000000, guest, guest == PAGE_1G ? 0 : DATA, 0);
				assert_true(access(0x7f0000000123));
				assert_int_equal(model.references, references[guest][host]);
				assert_int_equal(model.leaves[guest][host], 1);
				assert_false(access(0x7f0000000fff));
				assert_int_equal(model.walks, 1);
				assert_int_equal(model.l1_misses, 1);
				/*
				 * The first walk finds the walker's caches empty, but what it has
				 * found itself.
				 */
				if (host == PAGE_SIZES)
					assert_int_equal(model.cached_references,
							 references[guest][host]);
			}
		}
	}
	start(5, false, 0);
	map(0, 5, 0xff7f00000000000, PAGE_4K, DATA, 0);
	assert_true(access(0xff7f00000000000));
	assert_int_equal(model.references, 5);
}

static void test_not_mapped(void **)
{
	struct tlb_walk walk = { .made = false };

	start(4, true, 0);
	second_level(PAGE_2M);
	map(0, 4, 0x1000, PAGE_4K, 5 * GIB, 0); /* outside of what the second level has */
	tlb_walk(&walk, &space, 0x1000);
	assert_false(walk.made);
	tlb_walk(&walk, &space, 0x2000);
	assert_false(walk.made);
}

static void map_pages(unsigned count)
{
	for (uint64_t i = 0; i < count; i++)
		map(0, 4, i << 12, PAGE_4K, (DATA + (i << 12)) & (GIB - 1), 0);
}

/* Uniformly random: what is missed is what the entries do not reach. */
static void test_random_pages(void **)
{
	uint64_t x = 1, walks = 0, before = 0;

	start(4, false, 0);
	map_pages(6144);
	for (unsigned i = 0; i < 1200000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		if (i == 200000)
			before = model.l1_misses;
		walks += access((x >> 33) % 6144 << 12) && i >= 200000;
	}
	/* 1 - 1536/6144 and 1 - 64/6144 of a million. */
	assert_in_range(walks, 745000, 755000);
	assert_in_range(model.l1_misses - before, 988000, 991000);
	assert_int_equal(model.references, 4 * model.walks);

	/* What fits is walked for once: 1,024 are 8 of each set of 12. */
	start(4, false, 0);
	map_pages(1024);
	for (unsigned i = 0; i < 100000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		access((x >> 33) % 1024 << 12);
	}
	assert_int_equal(model.walks, 1024);
}

/* An entry covers the smaller of both pages. */
static void test_entry_covers(void **)
{
	for (unsigned host = PAGE_4K; host < PAGE_SIZES; host++) {
		start(4, true, 0);
		second_level(host);
		for (uint64_t i = 0; i < 4; i++)
			map(0, 4, i << 21, PAGE_2M, DATA + (i << 21), 0);
		for (uint64_t i = 0; i < 2048; i++)
			access(i << 12);
		assert_int_equal(model.walks, host == PAGE_4K ? 2048 : 4);
	}
	start(4, true, 0);
	second_level(PAGE_1G);
	map_pages(16);
	for (uint64_t i = 0; i < 16; i++)
		access(i << 12);
	assert_int_equal(model.walks, 16);
}

static void test_walker_caches(void **)
{
	start(4, false, 0);
	map_pages(512);
	for (uint64_t i = 0; i < 512; i++)
		access(i << 12);
	assert_int_equal(model.references, 4 * 512);
	assert_int_equal(model.cached_references, 4 + 511);
	/* Invalidating any page empties the walker's caches. */
	tlb_flush(&model, 0, FLUSH_PAGE, 0x1000);
	access(0x1000);
	assert_int_equal(model.cached_references, 4 + 511 + 4);

	/*
	 * Nested, the next page: the entry in the guest's lowest table, whose page is known, and of
	 * the page itself the last.
	 */
	start(4, true, 0);
	second_level(PAGE_4K);
	map_pages(43);
	access(0);
	/*
	 * The first table's page costs 4, the three behind it 1 each, the page of another 2 MiB 2;
	 * and the guest's four entries.
	 */
	assert_int_equal(model.cached_references, 4 + 3 + 2 + 4);
	for (uint64_t i = 1; i < 20; i++)
		access(i << 12);
	model.cached_references = 0;
	for (uint64_t i = 20; i < 40; i++)
		access(i << 12);
	assert_int_equal(model.cached_references, 2 * 20);
	/*
	 * A new CR3 takes the guest's part away, so that all its tables are read, three of whose
	 * pages are long forgotten.
	 */
	tlb_flush(&model, space.asid, FLUSH_NOT_GLOBAL, 0);
	model.cached_references = 0;
	access(40 << 12);
	assert_int_equal(model.cached_references, 4 + 3 + 1);
	/* What is known of the second level is not taken away. */
	tlb_flush(&model, space.asid, FLUSH_NOT_GLOBAL, 0);
	model.cached_references = 0;
	access(41 << 12);
	assert_int_equal(model.cached_references, 4 + 1);
}

/* The entry that was longest not used goes. */
static void test_replacement(void **)
{
	static const uint64_t order[] = { 0, 1, 2, 3, 0, 4, 0 };

	start(4, false, 0);
	for (uint64_t i = 0; i < 5; i++)
		map(0, 4, i * GIB, PAGE_1G, i * GIB, 0);
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		access(order[i] * GIB);
	assert_int_equal(model.l1_misses, 5);
	access(GIB);
	assert_int_equal(model.l1_misses, 6);
	assert_int_equal(model.walks, 5);
}

static void test_flush(void **)
{
	uint64_t before;

	start(4, false, 0);
	map(0, 4, 0x1000, PAGE_4K, DATA, 0);
	map(0, 4, 0x2000, PAGE_4K, DATA, 0x100);
	map(0, 4, 0x40000000, PAGE_2M, DATA, 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(access(0x1000), !i);
		assert_int_equal(access(0x2000), !i);
		assert_int_equal(access(0x40000000), !i);
	}
	tlb_flush(&model, 0, FLUSH_PAGE, 0x40001000);
	assert_false(access(0x1000));
	assert_true(access(0x40000000));
	tlb_flush(&model, 0, FLUSH_PAGE, 0x2000);
	assert_true(access(0x2000));
	tlb_flush(&model, 0, FLUSH_NOT_GLOBAL, 0);
	assert_false(access(0x2000));
	assert_true(access(0x1000));
	tlb_flush(&model, 1, FLUSH_ALL, 0);
	assert_false(access(0x1000));
	tlb_flush(&model, 0, FLUSH_ALL, 0);
	assert_true(access(0x2000));
	/* What the first level gets back from the second is as global as it was. */
	for (uint64_t i = 0; i < 5; i++) {
		map(0, 4, 0x12000 + (i << 16), PAGE_4K, DATA, 0);
		access(0x12000 + (i << 16));
	}
	assert_false(access(0x2000));
	tlb_flush(&model, 0, FLUSH_NOT_GLOBAL, 0);
	before = model.l1_misses;
	assert_false(access(0x2000));
	assert_int_equal(model.l1_misses, before);
	/* Another's address is another. */
	space.asid = 1;
	assert_true(access(0x1000));
	space.asid = 0;
	assert_true(access(0x1000));
	assert_false(access(0x2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_walk),      cmocka_unit_test(test_not_mapped),
		cmocka_unit_test(test_random_pages),  cmocka_unit_test(test_entry_covers),
		cmocka_unit_test(test_walker_caches), cmocka_unit_test(test_flush),
		cmocka_unit_test(test_replacement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
