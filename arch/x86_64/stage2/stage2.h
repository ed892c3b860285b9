/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: second-level page tables. One four-level walker, two entry
 * formats: EPT (SDM vol. 3, 29.3) and NPT (APM vol. 2, 15.25). The memory that
 * tables live in comes through struct stage2_mem, so it also runs on the build
 * host. The caller serializes changes and flushes cached translations; CPUs
 * may walk the tables meanwhile.
 */
#ifndef STAGE2_STAGE2_H
#define STAGE2_STAGE2_H

#include <margay/x86.h>

enum { STAGE2_R = 1, STAGE2_W = 2, STAGE2_X = 4, STAGE2_RWX = 7 };

/* Paging levels that can hold a leaf, and their number. */
enum stage2_leaf { LEAF_4K, LEAF_2M, LEAF_1G, LEAF_SIZES };
#define STAGE2_LEVELS 4

struct stage2_format {
	const char *name;
	/*
	 * An entry that maps a page, one that points to a table (level: its own, as of a leaf), and
	 * what an entry is.
	 */
	u64 (*leaf)(u64 hpa, enum stage2_leaf size, unsigned prot, enum memtype type);
	u64 (*table)(u64 hpa, unsigned level);
	bool (*present)(u64 entry);
	unsigned (*prot)(u64 entry);
	enum memtype (*type)(u64 entry);
};
extern const struct stage2_format ept_format, npt_format;

/* Where tables come from: zeroed 4 KiB pages, and the two directions of their address. */
struct stage2_mem {
	void *(*alloc)(int node); /* on a NUMA node, where possible; -1: any */
	void (*free)(void *page);
	u64 (*to_hpa)(const void *page);
	void *(*to_virt)(u64 hpa);
};
/* host_pages.c: pages of the hypervisor's own */
extern const struct stage2_mem stage2_host_pages;

struct stage2 {
	const struct stage2_format *fmt;
	const struct stage2_mem *mem;
	enum stage2_leaf max_leaf;
	/* stage2_map() makes no leaf of more than 4 KiB executable: after stage2_init() */
	bool small_exec;
	/* to memory, for who walks nothing else; NULL. After it, too */
	void (*written)(const void *from, size_t size);
	int node; /* whose memory the next tables come from; after stage2_init() */
	u64 *root;
	/* tables taken out, linked by their first entry, until stage2_reap() */
	u64 *retired;
	unsigned tables; /* pages in use, the root and retired ones included */
	u64 leaves[LEAF_SIZES]; /* mapped leaves by size */
};

/* Empty tables, from `node`; leaves no larger than max_leaf. 0 or -ENOMEM. */
int stage2_init(struct stage2 *s, const struct stage2_format *fmt, const struct stage2_mem *mem,
		enum stage2_leaf max_leaf, int node);

/* Frees all tables; the pages they mapped are not touched. */
void stage2_destroy(struct stage2 *s);

/*
 * Maps [gpa, gpa+size) to hpa with the largest leaves that alignment allows.
 * All 4 KiB aligned. -EINVAL when not or beyond 48 bits; -EEXIST when a part is
 * mapped already; -ENOMEM. On error what was mapped before the fault stays:
 * the caller unmaps the range.
 */
int stage2_map(struct stage2 *s, u64 gpa, u64 hpa, u64 size, unsigned prot, enum memtype type);

/*
 * Removes [gpa, gpa+size), splitting larger leaves at its ends and retiring
 * tables that become empty; absent parts are passed over. -EINVAL; -ENOMEM
 * when a split needs a table.
 */
int stage2_unmap(struct stage2 *s, u64 gpa, u64 size);

/*
 * With small_exec: splits the leaf that holds gpa down to 4 KiB; these are executable, all of its 2
 * MiB. Translations that are cached stay right but for that. 0; -ENOENT; -ENOMEM.
 */
int stage2_execute(struct stage2 *s, u64 gpa);

/*
 * What maps gpa; hpa, type: of a leaf. Returns how many bytes from gpa on it holds for, a leaf or
 * nothing. In images with IOMMU.
 */
struct stage2_part {
	bool mapped;
	enum memtype type;
	u64 hpa;
};
u64 stage2_find(const struct stage2 *s, u64 gpa, struct stage2_part *out);

/*
 * Frees the retired tables. Every CPU has dropped its cached translations since (SDM vol. 3,
 * 29.4.3.3; APM vol. 2, 15.16).
 */
void stage2_reap(struct stage2 *s);

/* Host-physical address of the root table, for EPTP or nCR3. */
u64 stage2_root(const struct stage2 *s);

#endif
