/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a set of free physical ranges, sorted by address, each on one
 * NUMA node. Takes pieces so that large contiguous ones stay, and merges what
 * comes back. The caller locks.
 */
#ifndef KERNEL_EXTENT_H
#define KERNEL_EXTENT_H

#include <margay/types.h>

#define EXTENT_MAX 2048

struct extent {
	/* page aligned, end exclusive */
	u64 start;
	u64 end;

	unsigned node;
};

struct extent_list {
	unsigned count;
	unsigned live; /* pieces that are taken and may come back */
	struct extent range[EXTENT_MAX];
};

enum extent_policy {
	EXTENT_BEST_FIT, /* out of the smallest range that holds it */
	EXTENT_TOP,      /* at the highest address possible */
};

struct extent_constraint {
	u64 size;     /* multiple of PAGE_SIZE, not 0 */
	u64 align;    /* power of two, at least PAGE_SIZE */
	int node;     /* -1: any */
	u64 min_addr;
	u64 max_addr; /* exclusive; 0: no limit */
	enum extent_policy policy;
};

/*
 * Adds free memory: set-up and returned pieces. 0, -EINVAL (overlaps a free range, unaligned,
 * empty), -ENOSPC.
 */
int extent_add(struct extent_list *list, u64 start, u64 end, unsigned node);

/* Takes [start, end) out wherever it is free: set-up. 0, or -ENOSPC. */
int extent_remove(struct extent_list *list, u64 start, u64 end);

/* Moves the part of the free ranges inside [start, end) to a node: set-up. 0, or -ENOSPC. */
int extent_set_node(struct extent_list *list, u64 start, u64 end, unsigned node);

/*
 * Takes a piece. 0 and *start, *node; -ENOMEM: none fits; -EINVAL: a malformed
 * constraint; -ENOSPC: so many pieces are out that giving one back could fail.
 */
int extent_take(struct extent_list *list, const struct extent_constraint *c, u64 *start,
		unsigned *node);

/* Gives a taken piece back, whole. 0, or -EINVAL: (partly) free already. */
int extent_put(struct extent_list *list, u64 start, u64 size, unsigned node);

/*
 * Free bytes on a node (-1: all) in whole, aligned units of `unit` (a power of
 * two); *largest (may be NULL): the largest contiguous piece of such.
 */
u64 extent_free_bytes(const struct extent_list *list, int node, u64 unit, u64 *largest);

#endif
