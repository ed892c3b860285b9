/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of a processor's data TLBs and of its walks through page tables,
 * natively and nested. Sizes are Intel's Skylake's (Optimization Reference
 * Manual, "TLB parameters"): a first level of 64 entries for 4 KiB, 32 for
 * 2 MiB (4-way each) and 4 for 1 GiB, a second one of 1,536 for 4 KiB and 2 MiB
 * (12-way) and 16 for 1 GiB (4-way). An entry covers the smaller of the guest's
 * page and the second level's.
 *
 * References are counted twice: as the tables are, all of them from the root
 * on; and with caches in the walker, whose sizes vendors do not tell: 24
 * entries for tables' entries above the leaf, of both levels, and 16 for what
 * the second level translates. All replace the entry that was longest not used.
 */
#ifndef BENCH_TLB_MODEL_H
#define BENCH_TLB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define CR4_LA57 (1ull << 12)

enum { PAGE_4K, PAGE_2M, PAGE_1G, PAGE_SIZES }; /* also the level of the entry that is the leaf */
enum { MAX_LEVELS = 5 };

/* What addresses are translated by. */
struct tlb_space {
	uint64_t asid; /* 0: the host */
	uint64_t cr3;
	uint64_t n_cr3;
	/* of the tables; without n_cr3 there is no second level */
	unsigned levels;
	unsigned n_levels;
};

/* One walk, as the tables are. */
struct tlb_walk {
	bool made;
	bool global;
	unsigned leaf; /* the guest's */
	struct {
		/* the guest's physical one, of the entry at this level or of the page */
		uint64_t address;
		unsigned leaf;     /* the second level's there */
	} at[MAX_LEVELS + 1]; /* by level, the page itself last */
};
#define WALK_PAGE MAX_LEVELS

enum { L1_4K, L1_2M, L1_1G, L2, L2_1G, WALK_CACHE, NESTED_TLB, CACHES };
enum { CACHE_ENTRIES = 64 + 32 + 4 + 1536 + 16 + 24 + 16 };

struct tlb_entry {
	uint64_t tag;
	uint64_t used;
	bool global;
};

struct tlb_model {
	/* the second level's leaves are all of this page size + 1; 0: as they are */
	unsigned force;
	uint64_t clock;
	uint64_t l1_misses;
	uint64_t walks;
	uint64_t references;
	uint64_t cached_references;
	/* walks by the guest's leaf and the second level's, last: without one */
	uint64_t leaves[PAGE_SIZES][PAGE_SIZES + 1];
	struct tlb_entry entry[CACHE_ENTRIES];
};

enum tlb_flush { FLUSH_PAGE, FLUSH_NOT_GLOBAL, FLUSH_ALL };

/* 8 bytes of the machine's memory, of the including file; 0 where there is none */
uint64_t tlb_read(uint64_t address);

/* Whether a TLB has it; the first level does afterwards. */
bool tlb_hit(struct tlb_model *m, uint64_t asid, uint64_t address);
/* Follows the tables to the address. Once for all models that miss it. */
void tlb_walk(struct tlb_walk *walk, const struct tlb_space *space, uint64_t address);
/* Counts what the walk costs this model; the address is in its TLBs afterwards. */
void tlb_miss(struct tlb_model *m, const struct tlb_space *space, const struct tlb_walk *walk,
	      uint64_t address);
void tlb_flush(struct tlb_model *m, uint64_t asid, enum tlb_flush what, uint64_t address);

#endif
