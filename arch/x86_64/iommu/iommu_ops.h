/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kernel/iommu asks of a vendor's IOMMUs: one unit after the other, none
 * of it from two CPUs at once. A unit stands between the functions of some
 * buses and memory: each function, by its requester ID (bus << 8 | device and
 * function), is blocked or has a domain, which is a number and page tables.
 */
#ifndef ARCH_IOMMU_OPS_H
#define ARCH_IOMMU_OPS_H

#include "arch/x86_64/stage2/stage2.h"

#define IOMMU_REPORTS 8 /* faults of a function that are told, until it is attached again */

struct iommu_unit {
	u64 base;                 /* physical address of its registers */
	const char *broken;       /* why its functions are nobody's, as "it ..."; NULL: it works */
	/* What start() finds out. */
	enum stage2_leaf max_leaf;
	unsigned bits;            /* of an address that a device may use */
	unsigned domains;         /* their numbers are below that */
	bool coherent;            /* it sees in the CPUs' caches what has been written to tables */
	/* The driver's own. */
	volatile u8 *regs;
	u64 cap, *root, *queue;
	u32 tail, waits;          /* where the queue goes on; how often it was waited for */
};

struct iommu_fault {
	u16 bdf;
	bool write;
	u64 address;              /* of a page */
	u8 reason;                /* as the vendor's manual numbers them */
	unsigned count;           /* it is the function's so many-th; IOMMU_REPORTS: no more of it will come */
};

struct iommu_ops {
	const char *name;
	const struct stage2_format *format;
	/* Judges the unit and makes its tables, with all functions blocked; it goes on by the firmware's. NULL, or as broken. */
	const char *(*start)(struct iommu_unit *u);
	/*
	 * Gives it our tables, takes back what the firmware left on. Faults are told by this message; address 0:
	 * they are not. NULL, or as broken.
	 */
	const char *(*enable)(struct iommu_unit *u, u32 address, u32 data);
	/* Ends what the firmware left on, of a unit that is not used; after start(), or instead of it. */
	void (*off)(struct iommu_unit *u);
	/*
	 * Gives a function a domain with these page tables (stage2_root()); domain 0: it is blocked, and nothing that it sent
	 * before is under way any more on return. Forgets its faults. 0; -ENOMEM; -EIO: the unit does not answer, and is broken.
	 */
	int (*set)(struct iommu_unit *u, u16 bdf, unsigned domain, u64 root);
	/* Takes the next fault that the unit has noted; false: there is none, and the next one is told. */
	bool (*fault)(struct iommu_unit *u, struct iommu_fault *out);
};
extern const struct iommu_ops vtd_ops;

#endif
