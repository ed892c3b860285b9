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
#define IOMMU_LOG 256   /* faults that a unit holds at most */

struct iommu_unit {
	u64 base;                 /* physical address of its registers */
	int node;                 /* near its tables shall be; -1: any */
	const char *broken; /* why its functions are nobody's, as "it ..."; NULL: it works */
	/* What start() finds out. */
	enum stage2_leaf max_leaf;
	unsigned bits; /* of an address that a device may use */
	unsigned domains; /* their numbers are below that */
	bool coherent; /* it sees in the CPUs' caches what has been written to tables */
	/* its leaves can have accesses look into the CPUs' caches, whatever the device says */
	bool snoops;
	/* what was mapped is to be flushed, too: it may keep that nothing was there */
	bool keeps_absent;
	unsigned entries; /* of interrupts, that a requester ID has; where take() is */
	/* interrupts; with APIC IDs of more than 8 bits, too; it does that now */
	bool remaps;
	bool remaps_wide;
	bool wide;
	/* as which it is there, for host_pci_read(); negative: none. AMD-Vi's, as the next */
	int function;
	u8 hints; /* IVHD flags */
	/* the I/O APIC is below it that sends the host's NMIs: the console's, the alarm's */
	bool nmis;
	/* The driver's own. */
	volatile u8 *regs;
	u64 cap;
	u64 *root;
	u64 *queue;
	u64 *interrupts;
	u64 *events;
	u8 *counts;
	bool on;
	/* where the queue goes on; how often it was waited for */
	u32 tail;
	u32 waits;
};

struct iommu_fault {
	u16 bdf;
	/* an interrupt is no access to memory */
	bool write;
	bool interrupt;
	u64 address; /* of a page; the number of an interrupt's entry */
	u8 reason; /* as the vendor's manual numbers them */
	/* it is the function's so many-th; IOMMU_REPORTS: no more of it will come */
	unsigned count;
};

struct iommu_ops {
	const char *name;
	bool ivrs; /* the firmware's table that names its units is the IVRS, not the DMAR */
	const struct stage2_format *format;
	/* where all units can do that; NULL: format does it in all */
	const struct stage2_format *snooped;
	/*
	 * Judges the unit and makes its tables, with all functions blocked. It translates nothing
	 * yet: what firmware left on is off (release.h). NULL, or as broken.
	 */
	const char *(*start)(struct iommu_unit *u);
	/*
	 * Between start() and enable(): what these requester IDs send of the platform's passes,
	 * though they are blocked (settings of the IVHD's device entries, AMD IOMMU 3.07, 5.2.2.1).
	 * NULL: the firmware's tables do not say such things.
	 */
	void (*allow)(struct iommu_unit *u, u16 first, u16 last, u8 settings);
	/*
	 * Gives it our tables. Faults are told by this message; address 0: they are not. NULL, or
	 * as broken.
	 */
	const char *(*enable)(struct iommu_unit *u, u32 address, u32 data);
	/*
	 * Gives a function a domain with these page tables (stage2_root()); domain 0: it is
	 * blocked, and nothing that it sent before is under way any more on return. Forgets its
	 * faults. 0; -ENOMEM; -EIO: the unit does not answer, and is broken.
	 */
	int (*set)(struct iommu_unit *u, u16 bdf, unsigned domain, u64 root);
	/*
	 * Drops what the unit has of a domain's page tables; what was sent by them before has come
	 * on return. False: the unit does not answer, and is broken.
	 */
	bool (*flush)(struct iommu_unit *u, unsigned domain);
	/*
	 * Lets no interrupt pass but by a table of so many entries, a power of two from 256 to
	 * 32768, all of them empty; wide: with APIC IDs of 32 bits. 0: lets all pass. After
	 * enable(). NULL, or why not, as "it ...".
	 */
	const char *(*remap)(struct iommu_unit *u, unsigned count, bool wide);
	/*
	 * Where each requester ID has a table of its own (NULL: a unit has one for all, and the
	 * caller knows what is free there): the first of `count` empty entries in a row, a power of
	 * two up to 32. how: of an I/O APIC's input; 0: a message. -ENOSPC; -ENOMEM.
	 */
	int (*take)(struct iommu_unit *u, u16 source, unsigned count, u32 how);
	/*
	 * Fills entry n: interrupts of this requester ID go to one CPU, with vector, delivery mode
	 * and trigger as in the low half of an I/O APIC's entry. how 0: empties it, and what has
	 * gone by it has been delivered on return. False: the unit does not answer, and is broken.
	 */
	bool (*interrupt)(struct iommu_unit *u, unsigned n, u16 source, u32 apic_id, u32 how);
	/*
	 * A message for entry n: its address, data above. several: or for one behind it, by what
	 * the device adds.
	 */
	u64 (*message)(unsigned n, bool several);
	/* An I/O APIC's entry (82093AA, 3.2.4) that goes by entry n; the rest of it as it is. */
	u64 (*input)(unsigned n, u64 entry);
	/*
	 * Takes the next fault that the unit has noted; false: there is none, and the next one is
	 * told.
	 */
	bool (*fault)(struct iommu_unit *u, struct iommu_fault *out);
	/*
	 * Tells of no fault, or again; only where enable() had a message. Those noted meanwhile are
	 * there for fault().
	 */
	void (*hold)(struct iommu_unit *u, bool held);
};

/*
 * A backend registers itself (linker section): kernel/iommu/iommu_find.c takes the one of the table
 * that the firmware has.
 */
#define IOMMU_BACKEND(ops) \
	static const struct iommu_ops *const ops##_entry __used __section("iommu_backends") = &(ops)

#endif
