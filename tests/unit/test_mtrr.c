/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/mtrr.c */
/* Virtual MTRRs and PAT values against SDM vol. 3, 12.11 and 12.12. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "vmm/memory/mtrr.h"

static u64 read_ok(const struct mtrr_state *m, u32 msr)
{
	u64 v = 0xdead;

	assert_int_equal(mtrr_read(m, msr, &v), 0);
	return v;
}

/* The memory type that the SDM's rules give an address above 1 MiB. */
static unsigned effective_type(const struct mtrr_state *m, u64 addr)
{
	for (unsigned i = 0; i < MTRR_VARIABLE; i++) {
		u64 base = read_ok(m, 0x200 + 2 * i), mask = read_ok(m, 0x201 + 2 * i);

		if (mask & 0x800 && (addr & mask & ~0xfffull) == (base & mask & ~0xfffull))
			return base & 0xff;
	}
	return read_ok(m, 0x2ff) & 0xff;
}

static void reset_state(void **)
{
	struct mtrr_state m;

	mtrr_reset(&m, 0xc0000000, 0x100000000, 46);
	/* MTRRs and fixed ranges enabled, write-back: 12.11.2.1 */
	assert_int_equal(read_ok(&m, 0x2ff), 0xc06);
	/* 8 variable ranges, fixed ranges, WC: 12.11.1 */
	assert_int_equal(read_ok(&m, 0xfe), 0x508);
	assert_int_equal(read_ok(&m, 0x200), 0xc0000000);
	assert_int_equal(read_ok(&m, 0x201), 0x3fffc0000800);
	assert_int_equal(read_ok(&m, 0x203), 0);
	assert_int_equal(effective_type(&m, 0x100000), MEMTYPE_WB);
	assert_int_equal(effective_type(&m, 0xbffff000), MEMTYPE_WB);
	assert_int_equal(effective_type(&m, 0xc0000000), MEMTYPE_UC);
	assert_int_equal(effective_type(&m, 0xfee00000), MEMTYPE_UC);
	assert_int_equal(effective_type(&m, 0xfffff000), MEMTYPE_UC);
	assert_int_equal(effective_type(&m, 0x100000000), MEMTYPE_WB);
	assert_int_equal(effective_type(&m, 0x1c0000000), MEMTYPE_WB);
	assert_int_equal(read_ok(&m, 0x250), 0x0606060606060606);
	assert_int_equal(read_ok(&m, 0x258), 0x0606060606060606);
	assert_int_equal(read_ok(&m, 0x259), 0);
}

static void ownership(void **)
{
	struct mtrr_state m;
	u64 v;

	mtrr_reset(&m, 0xc0000000, 0x100000000, 40);
	for (u32 msr = 0; msr < 0x400; msr++) {
		bool expected = msr == 0xfe || (msr >= 0x200 && msr <= 0x20f) || msr == 0x250 ||
				msr == 0x258 || msr == 0x259 || (msr >= 0x268 && msr <= 0x26f) ||
				msr == 0x2ff;

		assert_int_equal(mtrr_read(&m, msr, &v), expected ? 0 : -EFAULT);
		assert_int_equal(mtrr_write(&m, msr, 0, 40), expected && msr != 0xfe ? 0 : -EFAULT);
	}
}

static void written_is_read(void **)
{
	struct mtrr_state m;

	mtrr_reset(&m, 0xc0000000, 0x100000000, 40);
	for (u32 msr = 0x268; msr <= 0x26f; msr++)
		assert_int_equal(mtrr_write(&m, msr, 0x0605040100060504 + ((u64)(msr & 1) << 56),
					    40),
				 msr & 1 ? -EFAULT : 0);
	assert_int_equal(read_ok(&m, 0x268), 0x0605040100060504);
	assert_int_equal(read_ok(&m, 0x269), 0x0505050505050505);
	assert_int_equal(mtrr_write(&m, 0x20e, 0x800000001, 40), 0);
	assert_int_equal(mtrr_write(&m, 0x20f, 0xfff0000800, 40), 0);
	assert_int_equal(read_ok(&m, 0x20e), 0x800000001);
	assert_int_equal(read_ok(&m, 0x20f), 0xfff0000800);
	assert_int_equal(mtrr_write(&m, 0x2ff, 0, 40), 0);
	assert_int_equal(read_ok(&m, 0x2ff), 0);
}

static void refused(void **)
{
	struct mtrr_state m;

	mtrr_reset(&m, 0xc0000000, 0x100000000, 40);
	assert_int_equal(mtrr_write(&m, 0x2ff, 0x1c06, 40), -EFAULT);        /* bit 12 */
	assert_int_equal(mtrr_write(&m, 0x2ff, 0xc02, 40), -EFAULT);         /* type 2 */
	assert_int_equal(mtrr_write(&m, 0x2ff, 0xc07, 40), -EFAULT); /* UC- is PAT's only */
	assert_int_equal(mtrr_write(&m, 0x2ff, 0x100000c06, 40), -EFAULT);
	/* bit 40 = MAXPHYADDR */
	assert_int_equal(mtrr_write(&m, 0x202, 0x10000000000, 40), -EFAULT);
	assert_int_equal(mtrr_write(&m, 0x202, 0x10000000000, 41), 0);
	assert_int_equal(mtrr_write(&m, 0x202, 0x100, 40), -EFAULT); /* bit 8 */
	assert_int_equal(mtrr_write(&m, 0x202, 3, 40), -EFAULT); /* type 3 */
	assert_int_equal(mtrr_write(&m, 0x203, 0xfff0000c00, 40), -EFAULT); /* bit 10 */
	assert_int_equal(mtrr_write(&m, 0x203, 0x10000000800, 40), -EFAULT);
	assert_int_equal(mtrr_write(&m, 0x250, 0x0606060606060607, 40), -EFAULT);
	assert_int_equal(mtrr_write(&m, 0x250, 0x0206060606060606, 40), -EFAULT);
	assert_int_equal(mtrr_write(&m, 0xfe, 0x508, 40), -EFAULT);
	assert_int_equal(read_ok(&m, 0x2ff), 0xc06);
	assert_int_equal(read_ok(&m, 0x250), 0x0606060606060606);
}

static void pat(void **)
{
	assert_true(pat_valid(PAT_RESET));
	assert_true(pat_valid(0x0407050600070106)); /* what Linux writes */
	assert_true(pat_valid(0));
	for (unsigned byte = 0; byte < 8; byte++)
		for (u64 type = 0; type < 256; type++)
			assert_int_equal(pat_valid(type << 8 * byte),
					 type == 0 || type == 1 || type == 4 || type == 5 ||
						 type == 6 || type == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reset_state),
		cmocka_unit_test(ownership),
		cmocka_unit_test(written_is_read),
		cmocka_unit_test(refused),
		cmocka_unit_test(pat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
