/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Physical memory by NUMA node: large extents for guests, and 4 KiB pages for
 * the LWK itself out of 512 KiB chunks, so that small pages never fragment what
 * guests get. Never hands out: the first MiB, the image, boot modules that
 * have not been moved, and whatever the firmware's map does not call usable.
 * One lock inside; any CPU.
 */
#ifndef KERNEL_PMEM_H
#define KERNEL_PMEM_H

#include <margay/types.h>
#include "kernel/boot/bootinfo.h"

/*
 * First: knows what is free. Touches no memory but its own, so it works before
 * the final page tables do. 0, or -ENOSPC (logged): the memory map is too fragmented.
 */
int pmem_init(const struct bootinfo *bi, u64 image_start, u64 image_end);

/*
 * A page for the page tables, below 4 GiB, not zeroed, never given back; 0:
 * none left. Only between pmem_init() and pmem_start().
 */
u64 pmem_early_page(void);

/* A page between 64 KiB and 640 KiB that nobody else gets, for the CPUs' start; 0: the memory map has none. After pmem_init(). */
u64 pmem_low_page(void);

/* After the direct map (paging.h) and numa_init(): everything below works from here on. */
void pmem_start(void);

/*
 * `count` contiguous, zeroed 4 KiB pages of the LWK's own, on `node` where
 * possible (-1: any), by their address in the direct map. NULL: none left.
 */
void *pmem_pages_alloc(unsigned count, int node);
void pmem_pages_free(void *pages, unsigned count);

/* A constraint record (after Kitten's): what the caller needs of an extent. */
struct pmem_request {
	u64 size;     /* bytes; rounded up to 4 KiB */
	u64 align;    /* power of two; 0: 1 GiB where size >= 1 GiB and such a piece exists, else 2 MiB */
	int node;     /* -1: any */
	u64 min_addr; /* lowest address allowed */
	u64 max_addr; /* exclusive; 0: no limit */
};

struct pmem_extent {
	u64 base;
	u64 size;
	int node;
};

/* Takes an extent, whatever is in it. 0, or -ENOMEM or -EINVAL (nothing printed: the caller knows what it is for). */
int pmem_extent_alloc(const struct pmem_request *req, struct pmem_extent *out);
/* The same, from the end of memory: for boot modules. */
int pmem_extent_alloc_top(const struct pmem_request *req, struct pmem_extent *out);
void pmem_extent_free(const struct pmem_extent *e);

/* Gives memory that pmem_init() held back (a module's original place) to the free extents. */
void pmem_release(u64 start, u64 end);

/* Bytes free for guests (2 MiB pieces) on a node (-1: all); largest, when not NULL: the largest contiguous piece. */
u64 pmem_free_bytes(int node, u64 *largest);

/* The i-th free piece in whole 2 MiB pages, sorted by address; false past the last. */
bool pmem_piece(unsigned i, struct pmem_extent *out);

/* Bytes of a node that were free when pmem_start() returned. */
u64 pmem_node_bytes(unsigned node);

/* Bytes that the LWK's own page pool holds, and how many of them are in use. */
u64 pmem_pool_bytes(void);
u64 pmem_used_bytes(void);
/* Bytes of pages from pmem_early_page(). */
u64 pmem_early_bytes(void);

#endif
