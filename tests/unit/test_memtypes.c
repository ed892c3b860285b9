/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/stage2/formats.c */
/*
 * Which cache type a guest's access to a device's page has in the end: the type of the second-level
 * leaf, whose bits are decoded here by the manuals, combined with the type in the guest's PAT. A
 * guest's write-combining must stay (InfiniBand doorbells need it), and nothing else may ever be
 * cached.
 *
 * EPT: SDM vol. 3, 29.3.7.2: the leaf's type takes the place of the MTRR's in table 12-7 (older:
 * 11-7), unless bit 6, "ignore PAT", is set. NPT: APM vol. 2, 15.25.8, tables 15-19 (guest's and
 * host's PAT types) and 15-20 (with the MTRRs'). No emulator has caches: these tables are all that
 * there is. Of AMD's only the columns that Margay's leaves use stand here. They were written
 * without the manual at hand, which was looked for again on 2026-11-21 and not found in any public
 * copy within reach. What others' sources say agrees: Xen maps device memory of guests on NPT as
 * UC-, by PCD without PWT, so that the guest's type decides (xen/arch/x86/mm/p2m-pt.c,
 * p2m_type_to_flags()); AmdIntelEmu and SimpleSvm cite the two tables for a guest's WC that stays
 * WC, or WC+ over write-back memory; APM vol. 2, 15.36.14, has WC and UC as the types that 15.25.8
 * comes to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/x86_64/stage2/stage2.h"

#define TYPES 8
static const enum memtype all[] = { MEMTYPE_UC, MEMTYPE_WC, MEMTYPE_WT,
				    MEMTYPE_WP, MEMTYPE_WB, MEMTYPE_UC_MINUS };

/* By the guest's PAT type. */
typedef const enum memtype row[TYPES];

/* Table 12-7, MTRR type UC: only WC overrides it. And WB: what the guest says, UC- being UC. */
static row intel_uc = {
	[MEMTYPE_UC] = MEMTYPE_UC, [MEMTYPE_UC_MINUS] = MEMTYPE_UC, [MEMTYPE_WC] = MEMTYPE_WC,
	[MEMTYPE_WT] = MEMTYPE_UC, [MEMTYPE_WP] = MEMTYPE_UC,       [MEMTYPE_WB] = MEMTYPE_UC,
};
static row intel_wb = {
	[MEMTYPE_UC] = MEMTYPE_UC, [MEMTYPE_UC_MINUS] = MEMTYPE_UC, [MEMTYPE_WC] = MEMTYPE_WC,
	[MEMTYPE_WT] = MEMTYPE_WT, [MEMTYPE_WP] = MEMTYPE_WP,       [MEMTYPE_WB] = MEMTYPE_WB,
};

/*
 * Tables 15-19 and 15-20, host PAT type UC-, which gives way to WC alone; MTRR type UC, as over
 * device memory.
 */
static row amd_uc_minus = {
	[MEMTYPE_UC] = MEMTYPE_UC, [MEMTYPE_UC_MINUS] = MEMTYPE_UC, [MEMTYPE_WC] = MEMTYPE_WC,
	[MEMTYPE_WT] = MEMTYPE_UC, [MEMTYPE_WP] = MEMTYPE_UC,       [MEMTYPE_WB] = MEMTYPE_UC,
};

static enum memtype on_intel(u64 leaf, enum memtype guest)
{
	enum memtype type = leaf >> 3 & 7;

	if (leaf & BIT(6))
		return type;
	assert_true(type == MEMTYPE_UC || type == MEMTYPE_WB);
	return type == MEMTYPE_UC ? intel_uc[guest] : intel_wb[guest];
}

/* The host's PAT as at power-on (APM vol. 2, 7.8.2): PAT 7 or 12, PCD 4, PWT 3 are the index. */
static enum memtype on_amd(u64 leaf, enum memtype guest)
{
	static const enum memtype pat[] = { MEMTYPE_WB, MEMTYPE_WT, MEMTYPE_UC_MINUS, MEMTYPE_UC };

	assert_int_equal(pat[leaf >> 3 & 3], MEMTYPE_UC_MINUS);
	return amd_uc_minus[guest];
}

static void test_devices(void **)
{
	for (enum stage2_leaf size = LEAF_4K; size <= LEAF_1G; size++) {
		u64 ept = ept_format.leaf(GIB(32), size, STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS);
		u64 npt = npt_format.leaf(GIB(32), size, STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS);

		/* Of a large page bit 12 would be another half of the PAT. */
		assert_false(npt & BIT(12));
		for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
			enum memtype wanted = all[i] == MEMTYPE_WC ? MEMTYPE_WC : MEMTYPE_UC;

			assert_int_equal(on_intel(ept, all[i]), wanted);
			assert_int_equal(on_amd(npt, all[i]), wanted);
		}
	}
}

/*
 * What memory has: as the guest says. And what devices may not have: WB, in which a guest's WB is
 * cached; "ignore PAT".
 */
static void test_controls(void **)
{
	u64 ram = ept_format.leaf(GIB(1), LEAF_1G, STAGE2_RWX, MEMTYPE_WB);
	u64 device = ept_format.leaf(GIB(1), LEAF_4K, STAGE2_R | STAGE2_W, MEMTYPE_UC_MINUS);

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(on_intel(ram, all[i]),
				 all[i] == MEMTYPE_UC_MINUS ? MEMTYPE_UC : all[i]);
	assert_int_equal(on_intel(device | BIT(6), MEMTYPE_WC), MEMTYPE_UC);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
