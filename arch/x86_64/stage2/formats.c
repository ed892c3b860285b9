/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two entry formats: EPT (SDM vol. 3, tables 29-1 to 29-7) and NPT, which
 * is the host's own long-mode format read through the host's PAT (APM vol. 2,
 * 15.25.5, 15.25.8).
 */
#include "arch/x86_64/stage2/stage2.h"

#define EPT_R BIT(0)
#define EPT_W BIT(1)
#define EPT_X BIT(2)
#define EPT_RWX (EPT_R | EPT_W | EPT_X)
#define EPT_TYPE_SHIFT 3 /* leaves: memory type in bits 5:3; "ignore PAT" (bit 6) stays 0 */
#define EPT_LEAF BIT(7)

static u64 ept_leaf(u64 hpa, enum stage2_leaf size, unsigned prot, enum memtype type)
{
	u64 e = hpa;

	/*
	 * There is no UC-: an EPT's UC gives way to the guest's WC (SDM vol. 3, 29.3.7.2 and table
	 * 12-7).
	 */
	e |= (u64)(type == MEMTYPE_UC_MINUS ? MEMTYPE_UC : type) << EPT_TYPE_SHIFT;
	e |= (prot & STAGE2_R ? EPT_R : 0) | (prot & STAGE2_W ? EPT_W : 0) |
	     (prot & STAGE2_X ? EPT_X : 0);
	return size == LEAF_4K ? e : e | EPT_LEAF;
}

static u64 ept_table(u64 hpa, unsigned)
{
	return hpa | EPT_RWX;
}

static bool ept_present(u64 e)
{
	return e & EPT_RWX;
}

static unsigned ept_prot(u64 e)
{
	return (e & EPT_R ? STAGE2_R : 0) | (e & EPT_W ? STAGE2_W : 0) | (e & EPT_X ? STAGE2_X : 0);
}

static enum memtype ept_type(u64 e)
{
	return e >> EPT_TYPE_SHIFT & 7;
}

const struct stage2_format ept_format = {
	.name = "EPT",
	.leaf = ept_leaf,
	.table = ept_table,
	.present = ept_present,
	.prot = ept_prot,
	.type = ept_type,
};

/*
 * NPT walks are user accesses, so U is set at every level. The memory type is
 * an index into the host's PAT, whose first entries the LWK leaves as at
 * power-on (0 WB, 1 WT, 2 UC-, 3 UC).
 */
static u64 npt_leaf(u64 hpa, enum stage2_leaf size, unsigned prot, enum memtype type)
{
	u64 e = hpa | PTE_P | PTE_U | PTE_A | PTE_D;

	e |= (prot & STAGE2_W ? PTE_W : 0) | (prot & STAGE2_X ? 0 : PTE_NX);
	if (type == MEMTYPE_WT)
		e |= PTE_PWT;
	else if (type == MEMTYPE_UC_MINUS)
		e |= PTE_PCD;
	else if (type != MEMTYPE_WB)
		e |= PTE_PCD | PTE_PWT;
	return size == LEAF_4K ? e : e | PTE_PS;
}

static u64 npt_table(u64 hpa, unsigned)
{
	return hpa | PTE_P | PTE_W | PTE_U | PTE_A;
}

static bool npt_present(u64 e)
{
	return e & PTE_P;
}

static unsigned npt_prot(u64 e)
{
	return (e & PTE_P ? STAGE2_R : 0) | (e & PTE_W ? STAGE2_W : 0) |
	       (e & PTE_NX ? 0 : STAGE2_X);
}

static enum memtype npt_type(u64 e)
{
	static const enum memtype power_on_pat[] = { MEMTYPE_WB, MEMTYPE_WT, MEMTYPE_UC_MINUS,
						     MEMTYPE_UC };

	return power_on_pat[(e & PTE_PCD ? 2 : 0) | (e & PTE_PWT ? 1 : 0)];
}

const struct stage2_format npt_format = {
	.name = "NPT",
	.leaf = npt_leaf,
	.table = npt_table,
	.present = npt_present,
	.prot = npt_prot,
	.type = npt_type,
};
