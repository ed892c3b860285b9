/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/mtrr.c */
/* FUZZ: -max_len=128 */
/*
 * Fuzzes the virtual MTRRs and the PAT's check. Checked: an MSR is read exactly when
 * it is owned; a refused write changes nothing, an accepted one is read back
 * and has no reserved bit and no reserved memory type (SDM vol. 3, 12.11, 12.12).
 */
#include "tests/fuzz/fuzz.h"
#include "vmm/memory/mtrr.h"

static bool type_ok(u8 t)
{
	return t < 7 && t != 2 && t != 3;
}

/* The MSRs of SDM vol. 3, table 12-8 and 12.11.2. */
static bool is_mtrr(u32 msr)
{
	return msr == MSR_MTRRCAP || msr == MSR_MTRR_DEF_TYPE ||
	       msr - MSR_MTRR_PHYSBASE0 < 2 * MTRR_VARIABLE || msr == 0x250 || msr == 0x258 ||
	       msr == 0x259 || (msr >= 0x268 && msr <= 0x26f);
}

/* SDM vol. 3, 12.11.2, by the bits. */
static bool legal(u32 msr, u64 v, unsigned phys_bits)
{
	if (msr == MSR_MTRR_DEF_TYPE)
		return !(v & ~0xcffull) && type_ok((u8)v);
	if (msr >= MSR_MTRR_PHYSBASE0 && msr < MSR_MTRR_PHYSBASE0 + 2 * MTRR_VARIABLE) {
		if (phys_bits < 64 && v >> phys_bits)
			return false;
		return msr & 1 ? !(v & 0x7ff) : !(v & 0xf00) && type_ok((u8)v);
	}
	if (msr == MSR_MTRRCAP || !is_mtrr(msr))
		return false;
	for (unsigned i = 0; i < 8; i++)
		if (!type_ok((u8)(v >> 8 * i)))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u32 base[] = { MSR_MTRR_PHYSBASE0, MSR_MTRR_FIX64K_00000, MSR_MTRR_DEF_TYPE,
				    MSR_MTRRCAP };
	struct fuzz_in in = { data, size };
	unsigned phys_bits = 32 + fuzz_u8(&in) % 21;
	struct mtrr_state m, before;
	u64 value;

	mtrr_reset(&m, 0xc0000000, 0x100000000, phys_bits);
	while (in.left) {
		u8 which = fuzz_u8(&in);
		u32 msr = which & 0x80 ? fuzz_u32(&in) : base[which & 3] + (which >> 2);
		u64 v = fuzz_u8(&in) & 1 ? fuzz_number(&in)
					 : 0x0101010101010101ull * (fuzz_u8(&in) & 7);
		bool pat = true;

		before = m;
		CHECK(!mtrr_read(&m, msr, &value) == is_mtrr(msr));
		if (mtrr_write(&m, msr, v, phys_bits)) {
			CHECK(!legal(msr, v, phys_bits) && !memcmp(&m, &before, sizeof(m)));
		} else {
			CHECK(legal(msr, v, phys_bits));
			CHECK(!mtrr_read(&m, msr, &value) && value == v);
		}
		for (unsigned i = 0; i < 8; i++)
			pat = pat && (type_ok((u8)(v >> 8 * i)) || (u8)(v >> 8 * i) == 7);
		CHECK(pat_valid(v) == pat);
	}
	return 0;
}
