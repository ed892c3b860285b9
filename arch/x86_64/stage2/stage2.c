/* SPDX-License-Identifier: GPL-2.0-only */
/* The one second-level page-table walker (see stage2.h). */
#include <margay/errno.h>

#include "arch/x86_64/stage2/stage2.h"

#define ENTRIES 512
/* level 0: 4 KiB entries ... 3: the root's 512 GiB */
#define LEVEL_SHIFT(level) (PAGE_SHIFT + 9 * (level))
#define LEVEL_SIZE(level) BIT(LEVEL_SHIFT(level))
#define GPA_END BIT(48)
/* Bit 7 marks a leaf above the lowest level in both formats. */
#define ENTRY_LARGE BIT(7)

static bool is_leaf(u64 entry, unsigned level)
{
	return level == LEAF_4K || (level <= LEAF_1G && (entry & ENTRY_LARGE));
}

static u64 *child(const struct stage2 *s, u64 entry)
{
	return s->mem->to_virt(entry & PTE_ADDR);
}

static u64 leaf_hpa(u64 entry, unsigned level)
{
	return entry & PTE_ADDR & ~(LEVEL_SIZE(level) - 1);
}

static u64 *table_alloc(struct stage2 *s)
{
	u64 *t = s->mem->alloc(IS_ENABLED(CONFIG_NUMA) ? s->node : -1);

	if (t)
		s->tables++;
	return t;
}

static void table_free(struct stage2 *s, u64 *table)
{
	s->mem->free(table);
	s->tables--;
}

/*
 * Sets an empty table aside. A CPU may still walk it by its paging-structure
 * caches: the link, a page's address, is an entry that is not present.
 */
static void table_retire(struct stage2 *s, u64 *table)
{
	static_assert(sizeof(void *) == sizeof(*table), "the link takes an entry's place");
	__atomic_store_n(&table[0], (u64)(uintptr_t)s->retired, __ATOMIC_RELAXED);
	s->retired = table;
}

static void written(const struct stage2 *s, const u64 *from, size_t size)
{
	if (IS_ENABLED(CONFIG_IOMMU) && s->written)
		s->written(from, size);
}

/* Entries change while they are walked: each by one store, and what it points to before. */
static void set_entry(const struct stage2 *s, u64 *e, u64 value)
{
	__atomic_store_n(e, value, __ATOMIC_RELEASE);
	written(s, e, sizeof(*e));
}

static void set_table(const struct stage2 *s, u64 *e, const u64 *table, unsigned level)
{
	written(s, table, PAGE_SIZE);
	set_entry(s, e, s->fmt->table(s->mem->to_hpa(table), level));
}

int stage2_init(struct stage2 *s, const struct stage2_format *fmt, const struct stage2_mem *mem,
		enum stage2_leaf max_leaf, int node)
{
	*s = (struct stage2){ .fmt = fmt, .mem = mem, .max_leaf = max_leaf, .node = node };
	s->root = table_alloc(s);
	return s->root ? 0 : -ENOMEM;
}

static void free_tree(struct stage2 *s, u64 *table, unsigned level)
{
	if (level)
		for (unsigned i = 0; i < ENTRIES; i++)
			if (s->fmt->present(table[i]) && !is_leaf(table[i], level))
				free_tree(s, child(s, table[i]), level - 1);
	table_free(s, table);
}

void stage2_reap(struct stage2 *s)
{
	while (s->retired) {
		u64 *table = s->retired;

		s->retired = (u64 *)(uintptr_t)table[0];
		table_free(s, table);
	}
}

void stage2_destroy(struct stage2 *s)
{
	stage2_reap(s);
	if (s->root)
		free_tree(s, s->root, STAGE2_LEVELS - 1);
	*s = (struct stage2){ 0 };
}

static bool range_ok(u64 gpa, u64 size)
{
	return IS_ALIGNED(gpa | size, PAGE_SIZE) && gpa < GPA_END && size <= GPA_END - gpa;
}

/* Maps one leaf of exactly this level. */
static int map_leaf(struct stage2 *s, u64 gpa, unsigned leaf_level, u64 entry)
{
	u64 *table = s->root;

	for (unsigned level = STAGE2_LEVELS - 1;; level--) {
		u64 *e = &table[gpa >> LEVEL_SHIFT(level) & (ENTRIES - 1)];

		if (level == leaf_level) {
			if (s->fmt->present(*e))
				return -EEXIST;
			set_entry(s, e, entry);
			s->leaves[level]++;
			return 0;
		}
		if (!s->fmt->present(*e)) {
			u64 *t = table_alloc(s);

			if (!t)
				return -ENOMEM;
			set_table(s, e, t, level);
		} else if (is_leaf(*e, level)) {
			return -EEXIST;
		}
		table = child(s, *e);
	}
}

int stage2_map(struct stage2 *s, u64 gpa, u64 hpa, u64 size, unsigned prot, enum memtype type)
{
	if (!range_ok(gpa, size) || !IS_ALIGNED(hpa, PAGE_SIZE))
		return -EINVAL;
	while (size) {
		unsigned level = s->max_leaf;
		int err;

		while (level > LEAF_4K &&
		       (!IS_ALIGNED(gpa | hpa, LEVEL_SIZE(level)) || size < LEVEL_SIZE(level)))
			level--;
		err = map_leaf(s, gpa, level,
			       s->fmt->leaf(hpa, level,
					    level && s->small_exec ? prot & ~STAGE2_X : prot,
					    type));
		if (err)
			return err;
		gpa += LEVEL_SIZE(level);
		hpa += LEVEL_SIZE(level);
		size -= LEVEL_SIZE(level);
	}
	return 0;
}

/*
 * Replaces a large leaf by a table of the next smaller size that maps the same, with more rights.
 */
static int split(struct stage2 *s, u64 *e, unsigned level, unsigned more)
{
	u64 *t = table_alloc(s);

	if (!t)
		return -ENOMEM;
	for (unsigned i = 0; i < ENTRIES; i++)
		t[i] = s->fmt->leaf(leaf_hpa(*e, level) + i * LEVEL_SIZE(level - 1), level - 1,
				    s->fmt->prot(*e) | more, s->fmt->type(*e));
	set_table(s, e, t, level);
	s->leaves[level]--;
	s->leaves[level - 1] += ENTRIES;
	return 0;
}

/* Once entry n is gone: what is unmapped piece by piece is seen by the entries beside it. */
static bool table_empty(const struct stage2 *s, const u64 *table, unsigned n)
{
	if (s->fmt->present(table[(n + 1) % ENTRIES]))
		return false;
	for (unsigned i = 0; i < ENTRIES; i++)
		if (s->fmt->present(table[i]))
			return false;
	return true;
}

static int unmap_table(struct stage2 *s, u64 *table, unsigned level, u64 gpa, u64 end)
{
	while (gpa < end) {
		u64 *e = &table[gpa >> LEVEL_SHIFT(level) & (ENTRIES - 1)];
		u64 next = MIN(ALIGN_DOWN(gpa, LEVEL_SIZE(level)) + LEVEL_SIZE(level), end);
		bool whole = next - gpa == LEVEL_SIZE(level);
		int err;

		if (!s->fmt->present(*e)) {
			gpa = next;
			continue;
		}
		if (is_leaf(*e, level)) {
			if (whole) {
				set_entry(s, e, 0);
				s->leaves[level]--;
				gpa = next;
				continue;
			}
			err = split(s, e, level, 0);
			if (err)
				return err;
		}
		err = unmap_table(s, child(s, *e), level - 1, gpa, next);
		if (err)
			return err;
		if (table_empty(s, child(s, *e),
				(next - 1) >> LEVEL_SHIFT(level - 1) & (ENTRIES - 1))) {
			u64 *empty = child(s, *e);

			set_entry(s, e, 0);
			table_retire(s, empty);
		}
		gpa = next;
	}
	return 0;
}

int stage2_unmap(struct stage2 *s, u64 gpa, u64 size)
{
	if (!range_ok(gpa, size))
		return -EINVAL;
	return unmap_table(s, s->root, STAGE2_LEVELS - 1, gpa, gpa + size);
}

int stage2_execute(struct stage2 *s, u64 gpa)
{
	u64 *table = s->root;

	for (unsigned level = STAGE2_LEVELS - 1;; level--) {
		u64 *e = &table[gpa >> LEVEL_SHIFT(level) & (ENTRIES - 1)];
		unsigned more = level == LEAF_2M ? STAGE2_X : 0;

		if (!s->fmt->present(*e))
			return -ENOENT;
		if (level == LEAF_4K) {
			set_entry(s, e,
				  s->fmt->leaf(leaf_hpa(*e, level), level,
					       s->fmt->prot(*e) | STAGE2_X, s->fmt->type(*e)));
			return 0;
		}
		if (is_leaf(*e, level) && split(s, e, level, more))
			return -ENOMEM;
		table = child(s, *e);
	}
}

u64 stage2_root(const struct stage2 *s)
{
	return s->mem->to_hpa(s->root);
}
