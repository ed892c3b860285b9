/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/gpa_map.c */
/* Guest-physical map: placement around the holes, congruence, lookup, e820. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "vmm/memory/gpa_map.h"

static void check_region(const struct gpa_map *m, unsigned i, u64 gpa, u64 size, u64 hpa, int node)
{
	assert_true(i < m->count);
	assert_int_equal(m->region[i].gpa, gpa);
	assert_int_equal(m->region[i].size, size);
	assert_int_equal(m->region[i].hpa, hpa);
	assert_int_equal(m->region[i].node, node);
}

static void small_guest(void **)
{
	struct gpa_map m = { 0 };

	assert_int_equal(gpa_map_end(&m), 0);
	assert_int_equal(gpa_map_add(&m, MIB(514), MIB(256), 0), 0);
	assert_int_equal(m.count, 1);
	check_region(&m, 0, 0, MIB(256), MIB(514), 0);
	assert_int_equal(gpa_map_size(&m), MIB(256));
	assert_int_equal(gpa_map_end(&m), MIB(256));
	assert_ptr_equal(gpa_map_find(&m, 0), &m.region[0]);
	assert_ptr_equal(gpa_map_find(&m, MIB(256) - 1), &m.region[0]);
	assert_null(gpa_map_find(&m, MIB(256)));
	assert_null(gpa_map_find(&m, ~0ull));
}

static void cut_at_the_hole(void **)
{
	struct gpa_map m = { 0 };

	assert_int_equal(gpa_map_add(&m, GIB(16), GIB(8), 1), 0);
	assert_int_equal(m.count, 2);
	check_region(&m, 0, 0, GIB(3), GIB(16), 1);
	check_region(&m, 1, GIB(4), GIB(5), GIB(19), 1);
	assert_int_equal(gpa_map_size(&m), GIB(8));
	assert_int_equal(gpa_map_end(&m), GIB(9));
	assert_null(gpa_map_find(&m, GPA_HOLE_START));
	assert_null(gpa_map_find(&m, 0xfee00000));
	assert_ptr_equal(gpa_map_find(&m, GIB(4)), &m.region[1]);
}

/*
 * The remainder above the hole keeps its 1 GiB pages although the first extent is only 2 MiB
 * aligned.
 */
static void congruent_above_the_hole(void **)
{
	struct gpa_map m = { 0 };

	assert_int_equal(gpa_map_add(&m, MIB(512), GIB(8), 0), 0);
	assert_int_equal(m.count, 2);
	check_region(&m, 0, 0, GIB(3), MIB(512), 0);
	check_region(&m, 1, GIB(4) + MIB(512), GIB(5), GIB(3) + MIB(512), 0);
}

static void second_node(void **)
{
	struct gpa_map m = { 0 };

	assert_int_equal(gpa_map_add(&m, MIB(32), MIB(512), 0), 0);
	/* 1 GiB pages: the GPA skips to the next congruent address. */
	assert_int_equal(gpa_map_add(&m, GIB(64), GIB(1), 1), 0);
	check_region(&m, 1, GIB(1), GIB(1), GIB(64), 1);
	/* Only 2 MiB pages: no gap. */
	assert_int_equal(gpa_map_add(&m, GIB(80) + MIB(6), MIB(512), 2), 0);
	check_region(&m, 2, GIB(2), MIB(512), GIB(80) + MIB(6), 2);
	/* What does not fit congruently below the hole begins above it. */
	assert_int_equal(gpa_map_add(&m, GIB(96), GIB(2), 3), 0);
	check_region(&m, 3, GIB(4), GIB(2), GIB(96), 3);
	assert_int_equal(m.count, 4);
}

static void hypertransport_range_stays_free(void **)
{
	struct gpa_map m = { 0 };

	assert_int_equal(gpa_map_add(&m, GIB(1024), GIB(2048), 0), 0);
	assert_int_equal(m.count, 3);
	/* 0xfd_0000_0000 = 1012 GiB; 0x100_0000_0000 = 1024 GiB. */
	check_region(&m, 1, GIB(4), GIB(1008), GIB(1027), 0);
	check_region(&m, 2, GIB(1024), GIB(2048 - 3 - 1008), GIB(2035), 0);
}

static void bad_extents(void **)
{
	struct gpa_map m = { 0 };

	assert_int_equal(gpa_map_add(&m, GIB(1), 0, 0), -EINVAL);
	assert_int_equal(gpa_map_add(&m, GIB(1) + 1, MIB(2), 0), -EINVAL);
	assert_int_equal(gpa_map_add(&m, GIB(1), MIB(2) + 512, 0), -EINVAL);
	assert_int_equal(gpa_map_add(&m, ~0ull << 21, MIB(4), 0), -EINVAL);
	assert_int_equal(m.count, 0);
	for (unsigned i = 0; i < GPA_MAP_MAX - 1; i++)
		assert_int_equal(gpa_map_add(&m, GIB(1) + MIB(4) * i, MIB(2), 0), 0);
	/* This one needs two regions, only one is left: nothing of it is added. */
	assert_int_equal(gpa_map_add(&m, GIB(8), GIB(8), 0), -ENOSPC);
	assert_int_equal(m.count, GPA_MAP_MAX - 1);
	assert_int_equal(gpa_map_add(&m, GIB(8), MIB(2), 0), 0);
	assert_int_equal(gpa_map_add(&m, GIB(9), MIB(2), 0), -ENOSPC);
}

static void check_e820(const struct e820_entry *e, u64 addr, u64 size, u32 type)
{
	assert_int_equal(e->addr, addr);
	assert_int_equal(e->size, size);
	assert_int_equal(e->type, type);
}

static void e820(void **)
{
	struct gpa_map m = { 0 };
	struct e820_entry e[GPA_E820_MAX];

	assert_int_equal(gpa_map_add(&m, GIB(16), GIB(4), 0), 0);
	assert_int_equal(gpa_map_e820(&m, GIB(3) - KIB(64), KIB(64), e, GPA_E820_MAX), 4);
	check_e820(&e[0], 0, 0xa0000, E820_RAM);
	check_e820(&e[1], 0x100000, GIB(3) - KIB(64) - 0x100000, E820_RAM);
	check_e820(&e[2], GIB(3) - KIB(64), KIB(64), E820_ACPI);
	check_e820(&e[3], GIB(4), GIB(1), E820_RAM);
	/* In the middle of RAM: RAM before and behind it. */
	assert_int_equal(gpa_map_e820(&m, MIB(8), KIB(64), e, GPA_E820_MAX), 5);
	check_e820(&e[1], MIB(1), MIB(7), E820_RAM);
	check_e820(&e[2], MIB(8), KIB(64), E820_ACPI);
	check_e820(&e[3], MIB(8) + KIB(64), GIB(3) - MIB(8) - KIB(64), E820_RAM);
	/* In the ISA hole, where Linux looks for an RSDP. */
	assert_int_equal(gpa_map_e820(&m, 0xe0000, KIB(64), e, GPA_E820_MAX), 4);
	check_e820(&e[1], 0xe0000, KIB(64), E820_ACPI);
	check_e820(&e[2], MIB(1), GIB(3) - MIB(1), E820_RAM);
	/* None, and no room. */
	assert_int_equal(gpa_map_e820(&m, 0, 0, e, GPA_E820_MAX), 3);
	assert_int_equal(gpa_map_e820(&m, 0, 0, e, 2), 2);
	/* Behind all RAM. */
	assert_int_equal(gpa_map_e820(&m, GIB(8), KIB(64), e, GPA_E820_MAX), 4);
	check_e820(&e[3], GIB(8), KIB(64), E820_ACPI);
}

static void e820_merges_neighbours(void **)
{
	struct gpa_map m = { 0 };
	struct e820_entry e[GPA_E820_MAX];

	assert_int_equal(gpa_map_add(&m, GIB(1), GIB(1), 0), 0);
	assert_int_equal(gpa_map_add(&m, GIB(9), GIB(1), 1), 0);
	assert_int_equal(m.count, 2);
	assert_int_equal(gpa_map_e820(&m, 0, 0, e, GPA_E820_MAX), 2);
	check_e820(&e[1], MIB(1), GIB(2) - MIB(1), E820_RAM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_guest),
		cmocka_unit_test(cut_at_the_hole),
		cmocka_unit_test(congruent_above_the_hole),
		cmocka_unit_test(second_node),
		cmocka_unit_test(hypertransport_range_stays_free),
		cmocka_unit_test(bad_extents),
		cmocka_unit_test(e820),
		cmocka_unit_test(e820_merges_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
