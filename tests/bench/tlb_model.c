/* SPDX-License-Identifier: GPL-2.0-only */
/* The caches of the model, their replacement and flushes, and the walk through the tables. */
#include <stddef.h>

#include "tlb_model.h"

/*
 * What a tag is of: a page of one of three sizes, or, with a level, an entry of a table; and by
 * which tables.
 */
enum { OF_PAGE = 0, OF_GUEST_TABLE = 8, OF_NESTED_TABLE = 16, OF_NESTED_PAGE = 24 };

#define ENTRY_PRESENT 1ull
#define ENTRY_LARGE (1ull << 7)
#define ENTRY_GLOBAL (1ull << 8)
#define ENTRY_ADDRESS 0x000ffffffffff000ull
#define NOWHERE UINT64_MAX

static const struct {
	unsigned first;
	unsigned sets;
	unsigned ways;
} cache[CACHES] = {
	[L1_4K] = { 0, 16, 4 },         [L1_2M] = { 64, 8, 4 },   [L1_1G] = { 96, 1, 4 },
	[L2] = { 100, 128, 12 },        [L2_1G] = { 1636, 4, 4 }, [WALK_CACHE] = { 1652, 1, 24 },
	[NESTED_TLB] = { 1676, 1, 16 },
};

/* Of an entry at this level, or a page of this size: the bits of an address below it. */
static unsigned shift(unsigned level)
{
	return 12 + 9 * level;
}

/* Of an address' 57 bits the page's number, 12 bits of the ASID, 5 of what it is; never 0. */
static uint64_t make_tag(unsigned of, unsigned level, uint64_t asid, uint64_t address)
{
	return (address << 7 >> 7 >> shift(level)) << 19 | (asid & 0xfff) << 7 | (of + level) << 1 |
	       1;
}

static struct tlb_entry *set_of(struct tlb_model *m, unsigned c, uint64_t tag)
{
	return &m->entry[cache[c].first + (tag >> 19) % cache[c].sets * cache[c].ways];
}

static struct tlb_entry *find(struct tlb_model *m, unsigned c, uint64_t tag)
{
	struct tlb_entry *set = set_of(m, c, tag);

	for (unsigned way = 0; way < cache[c].ways; way++) {
		if (set[way].tag == tag) {
			set[way].used = ++m->clock;
			return &set[way];
		}
	}
	return NULL;
}

static void put(struct tlb_model *m, unsigned c, uint64_t tag, bool global)
{
	struct tlb_entry *set = set_of(m, c, tag), *oldest = set;

	for (unsigned way = 1; way < cache[c].ways; way++)
		if (set[way].used < oldest->used)
			oldest = &set[way];
	*oldest = (struct tlb_entry){ .tag = tag, .used = ++m->clock, .global = global };
}

static unsigned second_level_cache(unsigned size)
{
	return size == PAGE_1G ? L2_1G : L2;
}

bool tlb_hit(struct tlb_model *m, uint64_t asid, uint64_t address)
{
	uint64_t tag[PAGE_SIZES];

	for (unsigned size = 0; size < PAGE_SIZES; size++) {
		tag[size] = make_tag(OF_PAGE, size, asid, address);
		if (find(m, L1_4K + size, tag[size]))
			return true;
	}
	m->l1_misses++;
	for (unsigned size = 0; size < PAGE_SIZES; size++) {
		struct tlb_entry *e = find(m, second_level_cache(size), tag[size]);

		if (e) {
			put(m, L1_4K + size, tag[size], e->global);
			return true;
		}
	}
	return false;
}

/* Where the entry at this level, or behind a leaf the page, says that the address is. */
static uint64_t follow(uint64_t entry, unsigned level, bool leaf, uint64_t address)
{
	uint64_t within = (1ull << shift(level)) - 1;

	return leaf ? (entry & ENTRY_ADDRESS & ~within) | (address & within)
		    : entry & ENTRY_ADDRESS;
}

static uint64_t entry_address(uint64_t table, unsigned level, uint64_t address)
{
	return table + (address >> shift(level) & 511) * 8;
}

static bool is_leaf(uint64_t entry, unsigned level)
{
	return level == PAGE_4K || entry & ENTRY_LARGE;
}

/* The machine's address of a guest's, and the second level's leaf there. */
static uint64_t nested(const struct tlb_space *space, uint64_t address, unsigned *leaf)
{
	uint64_t table = space->n_cr3 & ENTRY_ADDRESS;

	if (!space->n_cr3)
		return address;
	for (unsigned level = space->n_levels; level-- > 0;) {
		uint64_t entry = tlb_read(entry_address(table, level, address));

		if (!(entry & ENTRY_PRESENT))
			return NOWHERE;
		*leaf = level;
		table = follow(entry, level, is_leaf(entry, level), address);
		if (is_leaf(entry, level))
			break;
	}
	return table;
}

void tlb_walk(struct tlb_walk *walk, const struct tlb_space *space, uint64_t address)
{
	uint64_t table = space->cr3 & ENTRY_ADDRESS;

	for (unsigned level = space->levels; level-- > 0;) {
		uint64_t entry;

		walk->at[level].address = entry_address(table, level, address);
		entry = tlb_read(nested(space, walk->at[level].address, &walk->at[level].leaf));
		if (!(entry & ENTRY_PRESENT))
			return;
		table = follow(entry, level, is_leaf(entry, level), address);
		if (is_leaf(entry, level)) {
			walk->leaf = level;
			walk->global = entry & ENTRY_GLOBAL;
			walk->at[WALK_PAGE].address = table;
			walk->made = nested(space, table, &walk->at[WALK_PAGE].leaf) != NOWHERE;
			return;
		}
	}
}

/*
 * Down to which level the walker knows the tables: its references begin below that. It knows all
 * down to the leaf afterwards.
 */
static unsigned known(struct tlb_model *m, unsigned of, uint64_t asid, uint64_t address,
		      unsigned leaf, unsigned levels)
{
	unsigned level = leaf + 1;

	while (level < levels && !find(m, WALK_CACHE, make_tag(of, level, asid, address)))
		level++;
	/* What is of the second level stays whatever the guest does with CR3. */
	for (unsigned above = level; above-- > leaf + 1;)
		put(m, WALK_CACHE, make_tag(of, above, asid, address), of == OF_NESTED_TABLE);
	return level;
}

static unsigned second_level_leaf(const struct tlb_model *m, unsigned leaf)
{
	return m->force ? m->force - 1 : leaf;
}

/*
 * One address of the guest's; with_caches: also by a walker with caches, which has not found it so
 * far.
 */
static void translate(struct tlb_model *m, const struct tlb_space *space, uint64_t address,
		      unsigned leaf, bool with_caches)
{
	uint64_t tag;

	if (!space->n_cr3)
		return;
	leaf = second_level_leaf(m, leaf);
	m->references += space->n_levels - leaf;
	tag = make_tag(OF_NESTED_PAGE, leaf, space->asid, address);
	if (!with_caches || find(m, NESTED_TLB, tag))
		return;
	m->cached_references +=
		known(m, OF_NESTED_TABLE, space->asid, address, leaf, space->n_levels) - leaf;
	put(m, NESTED_TLB, tag, true);
}

void tlb_miss(struct tlb_model *m, const struct tlb_space *space, const struct tlb_walk *walk,
	      uint64_t address)
{
	unsigned page = walk->leaf, second = second_level_leaf(m, walk->at[WALK_PAGE].leaf);
	unsigned below = known(m, OF_GUEST_TABLE, space->asid, address, walk->leaf, space->levels);
	uint64_t tag;

	m->walks++;
	m->leaves[walk->leaf][space->n_cr3 ? second : PAGE_SIZES]++;
	for (unsigned level = space->levels; level-- > walk->leaf;) {
		translate(m, space, walk->at[level].address, walk->at[level].leaf, level < below);
		m->references++;
		m->cached_references += level < below;
	}
	translate(m, space, walk->at[WALK_PAGE].address, walk->at[WALK_PAGE].leaf, true);
	if (space->n_cr3 && second < page)
		page = second;
	tag = make_tag(OF_PAGE, page, space->asid, address);
	put(m, L1_4K + page, tag, walk->global);
	put(m, second_level_cache(page), tag, walk->global);
}

void tlb_flush(struct tlb_model *m, uint64_t asid, enum tlb_flush what, uint64_t address)
{
	for (struct tlb_entry *e = m->entry; e < m->entry + CACHE_ENTRIES; e++) {
		unsigned of = e->tag >> 1 & 0x1f;

		if (!e->tag || (e->tag >> 7 & 0xfff) != (asid & 0xfff))
			continue;
		if (what == FLUSH_ALL || (what == FLUSH_NOT_GLOBAL && !e->global) ||
		    (what == FLUSH_PAGE && of >= OF_GUEST_TABLE && !e->global) ||
		    (what == FLUSH_PAGE && of < OF_GUEST_TABLE &&
		     e->tag == make_tag(OF_PAGE, of, asid, address)))
			*e = (struct tlb_entry){ 0 };
	}
}
