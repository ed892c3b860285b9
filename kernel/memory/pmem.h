/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Physical memory by NUMA node: large extents for guests, and 4 KiB pages for
 * the LWK itself out of 512 KiB chunks, so that small pages never fragment what
 * guests get. Never hands out: the first MiB, the image, boot modules that
 * have not been moved, and whatever the firmware's map does not call usable.
 * One lock inside; any CPU. <margay/host.h> has the extents, and what is free.
 */
#ifndef KERNEL_PMEM_H
#define KERNEL_PMEM_H

#include <margay/host.h>
#include "kernel/boot/bootinfo.h"
#include "kernel/memory/extent.h"

/*
 * First: knows what is free. Touches no memory but its own, so it works before
 * the final page tables do. `keep` is nobody's, not even once a module that lay
 * there is gone. 0, or -ENOSPC (logged): the memory map is too fragmented.
 */
int pmem_init(const struct bootinfo *bi, u64 image_start, u64 image_end, struct extent keep);

/*
 * A page for the page tables, below 4 GiB, not zeroed, never given back; 0:
 * none left. Only between pmem_init() and pmem_start().
 */
u64 pmem_early_page(void);

/*
 * A page between 64 KiB and 640 KiB that nobody else gets, for the CPUs' start; 0: the memory map
 * has none. After pmem_init().
 */
u64 pmem_low_page(void);

/* After the direct map (paging.h) and numa_init(): everything below works from here on. */
void pmem_start(void);

/*
 * `count` contiguous, zeroed 4 KiB pages of the LWK's own, on `node` where
 * possible (-1: any), by their address in the direct map. NULL: none left. Not
 * counted as a VM's, as host_pages_alloc()'s are.
 */
void *pmem_pages_alloc(unsigned count, int node);
void pmem_pages_free(void *pages, unsigned count);

/* As host_extent_alloc(), from the end of memory: for boot modules. */
int pmem_extent_alloc_top(const struct host_extent_request *req, struct host_extent *out);

/* Gives memory that pmem_init() held back (a module's original place) to the free extents. */
void pmem_release(u64 start, u64 end);

/* Bytes of pages from pmem_early_page(). */
u64 pmem_early_bytes(void);

#endif
