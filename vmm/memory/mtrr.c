/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: virtual MTRRs (SDM vol. 3, 12.11) and the legal values of IA32_PAT (12.12). */
#include "vmm/memory/mtrr.h"

#include <margay/errno.h>

#define MTRRCAP_FIX BIT(8)
#define MTRRCAP_WC BIT(10)

#define DEF_TYPE_FE BIT(10)
#define DEF_TYPE_E BIT(11)
#define DEF_TYPE_KNOWN (0xff | DEF_TYPE_FE | DEF_TYPE_E)

#define PHYSBASE_RESERVED 0xf00ull
#define PHYSMASK_V BIT(11)
#define PHYSMASK_RESERVED 0x7ffull

#define MSR_MTRR_PHYS_LAST (MSR_MTRR_PHYSBASE0 + 2 * MTRR_VARIABLE - 1)

static bool type_valid(u64 type)
{
	return type == MEMTYPE_UC || type == MEMTYPE_WC || type == MEMTYPE_WT ||
	       type == MEMTYPE_WP || type == MEMTYPE_WB;
}

/* Eight of them; in IA32_PAT there may also be UC-. */
static bool types_valid(u64 value, bool pat)
{
	for (unsigned i = 0; i < 8; i++) {
		u64 type = value >> 8 * i & 0xff;

		if (!type_valid(type) && !(pat && type == MEMTYPE_UC_MINUS))
			return false;
	}
	return true;
}

static u64 above(unsigned phys_bits)
{
	return ~(BIT(phys_bits) - 1);
}

static bool is_variable(u32 msr)
{
	return msr >= MSR_MTRR_PHYSBASE0 && msr <= MSR_MTRR_PHYS_LAST;
}

/* Index into fixed[], or -1. */
static int fixed_index(u32 msr)
{
	switch (msr) {
	case MSR_MTRR_FIX64K_00000: return 0;
	case MSR_MTRR_FIX16K_80000:
	case MSR_MTRR_FIX16K_A0000: return 1 + (int)(msr - MSR_MTRR_FIX16K_80000);
	case MSR_MTRR_FIX4K_C0000 ... MSR_MTRR_FIX4K_F8000:
		return 3 + (int)(msr - MSR_MTRR_FIX4K_C0000);
	default: return -1;
	}
}

void mtrr_reset(struct mtrr_state *m, u64 uc_start, u64 uc_end, unsigned phys_bits)
{
	static const u64 all_wb = 0x0606060606060606, all_wp = 0x0505050505050505;

	*m = (struct mtrr_state){ .def_type = DEF_TYPE_E | DEF_TYPE_FE | MEMTYPE_WB };
	m->base[0] = uc_start | MEMTYPE_UC;
	m->mask[0] = (~(uc_end - uc_start - 1) & ~above(phys_bits)) | PHYSMASK_V;
	/* RAM up to 0x9ffff, UC up to 0xbffff (left 0), write-protected where a PC's ROMs are. */
	m->fixed[0] = m->fixed[1] = all_wb;
	for (unsigned i = 3; i < MTRR_FIXED; i++)
		m->fixed[i] = all_wp;
}

int mtrr_read(const struct mtrr_state *m, u32 msr, u64 *value)
{
	unsigned i = (msr - MSR_MTRR_PHYSBASE0) / 2;
	int fixed = fixed_index(msr);

	if (msr == MSR_MTRRCAP)
		*value = MTRR_VARIABLE | MTRRCAP_FIX | MTRRCAP_WC;
	else if (msr == MSR_MTRR_DEF_TYPE)
		*value = m->def_type;
	else if (is_variable(msr))
		*value = msr & 1 ? m->mask[i] : m->base[i];
	else if (fixed >= 0)
		*value = m->fixed[fixed];
	else
		return -EFAULT;
	return 0;
}

static int write_variable(struct mtrr_state *m, u32 msr, u64 value, unsigned phys_bits)
{
	unsigned i = (msr - MSR_MTRR_PHYSBASE0) / 2;

	if (value & above(phys_bits))
		return -EFAULT;
	if (msr & 1) {
		if (value & PHYSMASK_RESERVED)
			return -EFAULT;
		m->mask[i] = value;
		return 0;
	}
	if (value & PHYSBASE_RESERVED || !type_valid(value & 0xff))
		return -EFAULT;
	m->base[i] = value;
	return 0;
}

int mtrr_write(struct mtrr_state *m, u32 msr, u64 value, unsigned phys_bits)
{
	int fixed = fixed_index(msr);

	if (is_variable(msr))
		return write_variable(m, msr, value, phys_bits);
	if (msr == MSR_MTRR_DEF_TYPE) {
		if (value & ~(u64)DEF_TYPE_KNOWN || !type_valid(value & 0xff))
			return -EFAULT;
		m->def_type = value;
		return 0;
	}
	if (fixed < 0 || !types_valid(value, false))
		return -EFAULT;
	m->fixed[fixed] = value;
	return 0;
}

bool pat_valid(u64 value)
{
	return types_valid(value, true);
}
