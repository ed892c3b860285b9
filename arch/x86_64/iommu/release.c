/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See release.h. Intel VT-d 4.0, 11.4.4 (global command and status), 11.4.8 (protected memory); AMD
 * IOMMU 3.07, 3.4.
 */
#include "arch/x86_64/iommu/release.h"

#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/iommu/amdvi.h"
#include "arch/x86_64/iommu/vtd.h"

/*
 * ticks of the TSC, whose rate nobody knows yet: a second or more, far more than any command takes
 */
#define PATIENCE BIT(32)

/* ---- VT-d ------------------------------------------------------------------------------- */

/* Waits until these bits are 0. False: they never are. */
static bool cleared(volatile u8 *reg, u64 bits)
{
	u64 start = rdtsc();

	while (mmio_read32(reg) & bits)
		if (rdtsc() - start > PATIENCE)
			return false;
	return true;
}

/*
 * One command at a time; what is on otherwise is said again with each (11.4.4.1). False: it stays
 * on.
 */
static bool vtd_clear(volatile u8 *regs, u32 bit)
{
	mmio_write32(regs + VTD_GCMD, mmio_read32(regs + VTD_GSTS) & VTD_KEPT & ~bit);
	return cleared(regs + VTD_GSTS, bit);
}

/* Interrupts first, then translation, and what protects the tables of both last. */
static unsigned vtd_release(volatile u8 *regs)
{
	u64 cap = mmio_read64(regs + VTD_CAP);
	unsigned left = 0;
	bool off = true;

	if (!cap || cap == ~0ull)
		return 0;
	if (mmio_read32(regs + VTD_GSTS) & VTD_IRE) {
		left |= IOMMU_LEFT_INTERRUPTS;
		off = vtd_clear(regs, VTD_IRE);
	}
	if (mmio_read32(regs + VTD_GSTS) & VTD_TE) {
		left |= IOMMU_LEFT_DMA;
		off = vtd_clear(regs, VTD_TE) && off;
	}
	/* The register is there only where one of the regions is (11.4.8.1). */
	if (cap & VTD_CAP_PMR &&
	    mmio_read32(regs + VTD_PMEN) & (VTD_PMEN_ENABLE | VTD_PMEN_STATUS)) {
		left |= IOMMU_LEFT_PROTECTED;
		mmio_write32(regs + VTD_PMEN, 0);
		off = cleared(regs + VTD_PMEN, VTD_PMEN_STATUS) && off;
	}
	return left | (off ? 0 : IOMMU_LEFT_STUCK);
}

static const struct iommu_releaser vtd = { .ivrs = false, .size = PAGE_SIZE, .off = vtd_release };
IOMMU_RELEASER(vtd);

/* ---- AMD-Vi ----------------------------------------------------------------------------- */

/*
 * One bit is for DMA and interrupts, whose tables say for each function what becomes of them; there
 * are no protected regions. First the rings, so that the unit writes nothing more to memory. How it
 * is connected stays.
 */
static unsigned amdvi_release(volatile u8 *regs)
{
	u64 control = mmio_read64(regs + AMDVI_CONTROL);
	bool off;

	if (control == ~0ull || !(control & AMDVI_ENABLE))
		return 0;
	mmio_write64(regs + AMDVI_CONTROL, control & ~AMDVI_RINGS);
	off = cleared(regs + AMDVI_STATUS, AMDVI_RINGS_RUN);
	mmio_write64(regs + AMDVI_CONTROL, control & AMDVI_CONNECTION);
	off = cleared(regs + AMDVI_CONTROL, AMDVI_ENABLE) && off;
	return IOMMU_LEFT_INTERRUPTS | IOMMU_LEFT_DMA | (off ? 0 : IOMMU_LEFT_STUCK);
}

static const struct iommu_releaser amdvi = { .ivrs = true, .size = KIB(16), .off = amdvi_release };
IOMMU_RELEASER(amdvi);
