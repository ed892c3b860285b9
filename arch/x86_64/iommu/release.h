/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ends what firmware left on in an IOMMU, with nothing but its registers: every image has that,
 * long before memory is given to anyone and the TSC's rate is known.
 */
#ifndef ARCH_IOMMU_RELEASE_H
#define ARCH_IOMMU_RELEASE_H

#include <margay/types.h>

enum iommu_left {
	IOMMU_LEFT_INTERRUPTS = BIT(0), /* interrupt remapping */
	IOMMU_LEFT_DMA = BIT(1),        /* DMA translation */
	IOMMU_LEFT_PROTECTED = BIT(2),  /* memory that no device reaches */
	IOMMU_LEFT_STUCK = BIT(3),      /* it does not go off */
};

/*
 * One for each vendor, which registers itself (linker section): kernel/iommu/release.c reads the
 * tables.
 */
struct iommu_releaser {
	bool ivrs; /* the firmware's table that names its units is the IVRS, not the DMAR */
	u64 size; /* how much of a unit's registers it needs */
	/*
	 * What was on (enum iommu_left), and is off now; 0 also where no unit answers. Where no
	 * unit is nothing is written.
	 */
	unsigned (*off)(volatile u8 *regs);
};
#define IOMMU_RELEASER(releaser) \
	static const struct iommu_releaser *const releaser##_entry __used \
	__section("iommu_releasers") = &(releaser)

#endif
