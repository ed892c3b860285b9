/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the windows through which devices see a guest's RAM, which its
 * kernel adds to what it gives them (docs/passthrough.md). From the map, by
 * the rules that make them safe, which it checks whoever made the map.
 */
#ifndef VMM_DMA_WINDOWS_H
#define VMM_DMA_WINDOWS_H

#include <margay/abi.h>
#include <margay/types.h>
#include "vmm/memory/gpa_map.h"

/* Registers of devices: the same address for CPUs and devices. */
struct dma_mmio {
	u64 base;
	u64 size;
};

struct dma_windows {
	unsigned count;
	struct margay_dma_window window[MARGAY_DMA_WINDOWS];
};

/*
 * All RAM, in the map's order; then, at offset 0, from the lowest register or
 * 3 GiB up to 4 GiB, so that every 32-bit address means something, and each
 * register range above. NULL; or the rule that cannot be met, in words that
 * follow "dma = window: ".
 */
const char *dma_windows_build(const struct gpa_map *map, const struct dma_mmio *mmio,
			      unsigned nr_mmio, struct dma_windows *out);

#endif
