/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries of VT-d's page tables: no rights in one, no mapping; all is write-back memory. Intel
 * Virtualization Technology for Directed I/O 4.0, 9.8.
 */
#include "arch/x86_64/iommu/vtd.h"

static u64 vtd_leaf(u64 hpa, enum stage2_leaf size, unsigned prot, enum memtype)
{
	return hpa | (prot & STAGE2_R ? VTD_R : 0) | (prot & STAGE2_W ? VTD_W : 0) |
	       (size == LEAF_4K ? 0 : VTD_LARGE);
}

static u64 vtd_leaf_snooped(u64 hpa, enum stage2_leaf size, unsigned prot, enum memtype type)
{
	return vtd_leaf(hpa, size, prot, type) | VTD_SNP;
}

static u64 vtd_table(u64 hpa, unsigned)
{
	return hpa | VTD_R | VTD_W;
}

static bool vtd_present(u64 e)
{
	return e & (VTD_R | VTD_W);
}

static unsigned vtd_prot(u64 e)
{
	return (e & VTD_R ? STAGE2_R : 0) | (e & VTD_W ? STAGE2_W : 0);
}

static enum memtype vtd_type(u64)
{
	return MEMTYPE_WB;
}

const struct stage2_format vtd_format = {
	.name = "VT-d",
	.leaf = vtd_leaf,
	.table = vtd_table,
	.present = vtd_present,
	.prot = vtd_prot,
	.type = vtd_type,
};

const struct stage2_format vtd_snooped = {
	.name = "VT-d",
	.leaf = vtd_leaf_snooped,
	.table = vtd_table,
	.present = vtd_present,
	.prot = vtd_prot,
	.type = vtd_type,
};
