/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ends what firmware left on in an IOMMU, with nothing but its registers: every image has that, long before memory is given to
 * anyone and the TSC's rate is known.
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

/* How much of the registers they need. */
#define VTD_RELEASE_SIZE PAGE_SIZE
#define AMDVI_RELEASE_SIZE KIB(16)

/* What was on (enum iommu_left), and is off now; 0 also where no unit answers. Where no unit is nothing is written. */
unsigned vtd_release(volatile u8 *regs);
unsigned amdvi_release(volatile u8 *regs);

#endif
