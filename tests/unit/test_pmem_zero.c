/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/memory/extent.c */
/*
 * What is known to be zero of memory that VMs gave back, until somebody else has had a page of it.
 * And what is nobody's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/paging.h"

/*
 * The machine's memory, of which only what the pool has is ever touched: reserved here, and filled
 * by nobody.
 */
#define MACHINE MIB(64)

static u8 *machine;

#define phys_to_virt(pa) ((void *)(machine + (pa)))

u64 virt_to_phys(const void *va)
{
	return (u64)((const u8 *)va - machine);
}

#include "kernel/memory/pmem.c"
#include "kernel/memory/zeros.c"

unsigned numa_node_count(void)
{
	return 1;
}

unsigned numa_node_of_address(u64)
{
	return 0;
}

bool numa_memory(unsigned, u64 *, u64 *, unsigned *)
{
	return false;
}

u64 host_memory_lost_in(u64, u64 to)
{
	return to;
}

u64 host_failed_page(void)
{
	fail();
	return 0;
}

void printk_error(const char *, ...)
{
	fail();
}

void upcall_panic(const char *, ...)
{
	abort();
}

static int setup(void **)
{
	static struct bootinfo bi;

	machine = aligned_alloc(MIB(2), MACHINE);
	bi.nr_ranges = 1;
	bi.range[0] = (struct boot_range){ MIB(2), MACHINE, BOOT_MEMORY_USABLE };
	free_list.count = free_list.live = zeros.count = 0;
	chunks = NULL;
	return pmem_init(&bi, MIB(2), MIB(4), (struct extent){ 0 });
}

static int teardown(void **)
{
	free(machine);
	return 0;
}

static struct host_extent take_at(u64 base, u64 size)
{
	const struct host_extent_request r = {
		.size = size,
		.align = PAGE_SIZE,
		.node = -1,
		.min_addr = base,
		.max_addr = base + size,
	};
	struct host_extent e;

	assert_int_equal(host_extent_alloc(&r, &e), 0);
	assert_int_equal(e.base.v, base);
	return e;
}

static void give_back(struct host_extent e, bool zero)
{
	e.zero = zero;
	host_extent_free(&e);
}

static void test_remembers(void **)
{
	struct host_extent e = take_at(MIB(8), MIB(16));

	assert_false(e.zero);
	give_back(e, true);
	e = take_at(MIB(8), MIB(16));
	assert_true(e.zero);
	/* Had, and not zeroed. */
	give_back(e, false);
	e = take_at(MIB(8), MIB(16));
	assert_false(e.zero);
	give_back(e, true);
	/* A part, and the rest on both sides of it. */
	give_back(take_at(MIB(12), MIB(2)), false);
	assert_true(take_at(MIB(8), MIB(4)).zero);
	assert_true(take_at(MIB(14), MIB(10)).zero);
	assert_false(take_at(MIB(12), MIB(2)).zero);
}

/*
 * Two neighbours are one piece; one that reaches beyond what is known is not zero, and what was
 * known of it is forgotten.
 */
static void test_pieces(void **)
{
	struct host_extent a = take_at(MIB(8), MIB(2)), b = take_at(MIB(10), MIB(2));

	give_back(a, true);
	give_back(b, true);
	a = take_at(MIB(8), MIB(4));
	assert_true(a.zero);
	give_back(a, true);
	a = take_at(MIB(8), MIB(5));
	assert_false(a.zero);
	give_back(a, false);
	assert_false(take_at(MIB(8), MIB(2)).zero);
}

/* The hypervisor's own pages, single and large ones, come out of it too. */
static void test_pool(void **)
{
	void *page, *large;
	struct host_extent e = take_at(MIB(4), MACHINE - MIB(4));

	give_back(e, true);
	page = pmem_pages_alloc(1, -1);
	large = pmem_pages_alloc(300, -1);
	memset(page, 1, PAGE_SIZE);
	memset(large, 1, 300 * PAGE_SIZE);
	pmem_pages_free(page, 1);
	pmem_pages_free(large, 300);
	for (u64 at = MIB(4), zero = 0; at < MACHINE; at += CHUNK_SIZE) {
		e = take_at(at, CHUNK_SIZE);
		for (u64 i = 0; e.zero && i < CHUNK_SIZE; i += PAGE_SIZE)
			assert_false(machine + at + i == page ||
				     (machine + at + i >= (u8 *)large &&
				      machine + at + i < (u8 *)large + 300 * PAGE_SIZE));
		zero += e.zero;
		/* All but the chunk, and the three that 300 pages need. */
		if (at + CHUNK_SIZE == MACHINE)
			assert_int_equal(zero, (MACHINE - MIB(4)) / CHUNK_SIZE - 4);
	}
}

/* What is kept from all stays so, also where a module was. */
static void test_kept(void **)
{
	static struct bootinfo bi;
	u64 largest;

	machine = aligned_alloc(MIB(2), MACHINE);
	bi.nr_ranges = bi.nr_modules = 1;
	bi.range[0] = (struct boot_range){ MIB(2), MACHINE, BOOT_MEMORY_USABLE };
	bi.module[0].start = MIB(18);
	bi.module[0].end = MIB(22);
	free_list.count = free_list.live = zeros.count = 0;
	chunks = NULL;
	assert_int_equal(pmem_init(&bi, MIB(2), MIB(4),
				   (struct extent){ .start = MIB(20), .end = MIB(24) }),
			 0);
	assert_int_equal(host_mem_free(-1, &largest), MACHINE - MIB(4) - MIB(6));
	pmem_release(MIB(18), MIB(22));
	assert_int_equal(host_mem_free(-1, &largest), MACHINE - MIB(4) - MIB(4));
	assert_int_equal(largest, MACHINE - MIB(24));
	for (u64 at = MIB(4); at < MACHINE; at += MIB(2)) {
		const struct host_extent_request r = {
			.size = MIB(2),
			.align = PAGE_SIZE,
			.node = -1,
			.min_addr = at,
			.max_addr = at + MIB(2),
		};
		struct host_extent e;

		assert_int_equal(host_extent_alloc(&r, &e),
				 at == MIB(20) || at == MIB(22) ? -ENOMEM : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_remembers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pool, setup, teardown),
		cmocka_unit_test_teardown(test_kept, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
