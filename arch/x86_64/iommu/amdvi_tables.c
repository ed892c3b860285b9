/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: AMD-Vi's host page tables of four levels (v1), and what its events say: IOMMU
 * Specification 3.07, 2.2.3 and 2.5.
 */
#include "arch/x86_64/iommu/amdvi.h"

static u64 amdvi_leaf(u64 hpa, enum stage2_leaf size, unsigned prot, enum memtype)
{
	return hpa | AMDVI_PRESENT | AMDVI_SNOOP | (size == LEAF_4K ? 0 : AMDVI_LEAF) |
	       (prot & STAGE2_R ? AMDVI_R : 0) | (prot & STAGE2_W ? AMDVI_W : 0);
}

static u64 amdvi_table(u64 hpa, unsigned level)
{
	return hpa | AMDVI_PRESENT | AMDVI_NEXT_LEVEL(level) | AMDVI_R | AMDVI_W;
}

static bool amdvi_present(u64 e)
{
	return e & AMDVI_PRESENT;
}

static unsigned amdvi_prot(u64 e)
{
	return (e & AMDVI_R ? STAGE2_R : 0) | (e & AMDVI_W ? STAGE2_W : 0);
}

static enum memtype amdvi_type(u64)
{
	return MEMTYPE_WB;
}

const struct stage2_format amdvi_format = {
	.name = "AMD-Vi",
	.leaf = amdvi_leaf,
	.table = amdvi_table,
	.present = amdvi_present,
	.prot = amdvi_prot,
	.type = amdvi_type,
};

/* What an event says of a function. False: it is about a command. */
bool amdvi_decode(const u64 e[2], struct iommu_fault *out)
{
	/* A page fault of a message is an interrupt's; QEMU says so of all. */
	bool message = e[1] >> 20 == 0xfee || e[1] >> 32 >= 0xfd;

	*out = (struct iommu_fault){
		.bdf = (u16)e[0],
		.write = e[0] & AMDVI_EVENT_WRITE,
		.reason = (u8)AMDVI_EVENT(e[0]),
		.interrupt = e[0] & AMDVI_EVENT_INTERRUPT && message,
	};
	out->address = out->interrupt ? e[1] : e[1] & ~(PAGE_SIZE - 1);
	return out->reason != AMDVI_EVENT_COMMAND && out->reason != AMDVI_EVENT_COMMAND_LOST;
}
