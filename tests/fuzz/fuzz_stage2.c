/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c */
/* FUZZ: -max_len=160 */
/*
 * Fuzzes the second-level page tables against a naive model: a list of ranges
 * that map and unmap cut page by page. Both formats, all leaf limits, table
 * allocation that fails. Checked: every edge of every range ever named
 * translates as the model says, counters equal a count of the tables
 * themselves, and destroying gives every page back.
 */
#include <margay/errno.h>

#include "tests/unit/stage2_walk.h"
#include "tests/fuzz/fuzz.h"

#define PAGES 96
#define RANGES 64
#define STEPS 10

/* ---- table memory: a pool at a made-up host address, with a free list ---- */

#define POOL_HPA 0x123456000ull

static u64 pool[PAGES][512] __aligned(4096);
static bool used[PAGES];
static unsigned in_use, limit;

static void *pool_alloc(int)
{
	if (in_use >= limit)
		return NULL;
	for (unsigned i = 0; i < PAGES; i++) {
		if (!used[i]) {
			used[i] = true;
			in_use++;
			memset(pool[i], 0, sizeof(pool[i]));
			return pool[i];
		}
	}
	return NULL;
}

static unsigned index_of(const void *page)
{
	size_t at = (size_t)((const char *)page - (const char *)pool);

	CHECK(at < sizeof(pool) && at % PAGE_SIZE == 0 && used[at / PAGE_SIZE]);
	return (unsigned)(at / PAGE_SIZE);
}

static void pool_free(void *page)
{
	used[index_of(page)] = false;
	in_use--;
}

static u64 pool_hpa(const void *page)
{
	return POOL_HPA + index_of(page) * PAGE_SIZE;
}

static void *pool_virt(u64 hpa)
{
	CHECK(hpa - POOL_HPA < sizeof(pool));
	return pool[(hpa - POOL_HPA) / PAGE_SIZE];
}

static const struct stage2_mem mem = { pool_alloc, pool_free, pool_hpa, pool_virt };

/* ---- the model ---- */

static struct range {
	u64 start;
	u64 end;
	u64 hpa;
	unsigned prot;
	enum memtype type;
} model[RANGES];
static unsigned count;

static u64 edge[2 * STEPS];
static unsigned edges;

static bool mapped(u64 start, u64 end)
{
	for (unsigned i = 0; i < count; i++)
		if (start < end && model[i].start < end && start < model[i].end)
			return true;
	return false;
}

static void remove_range(u64 start, u64 end)
{
	for (unsigned i = 0; i < count; i++) {
		struct range *r = &model[i], old = *r;

		if (old.start >= end || start >= old.end)
			continue;
		*r = model[--count];
		i--;
		if (old.start < start) {
			CHECK(count < RANGES);
			model[count] = old;
			model[count++].end = start;
		}
		if (end < old.end) {
			CHECK(count < RANGES);
			model[count] = old;
			model[count].hpa += end - old.start;
			model[count++].start = end;
		}
	}
}

/*
 * What each format can say of a leaf: NPT pages can always be read, and have no WP and WC by the
 * LWK's PAT; EPT has no UC-, as the guest's PAT makes WC of its UC, too.
 */
static enum memtype shown_type(const struct stage2 *s, enum memtype t)
{
	if (s->fmt == &ept_format)
		return t == MEMTYPE_UC_MINUS ? MEMTYPE_UC : t;
	return t == MEMTYPE_WB || t == MEMTYPE_WT || t == MEMTYPE_UC_MINUS ? t : MEMTYPE_UC;
}

static void check_address(const struct stage2 *s, u64 gpa)
{
	struct stage2_mapping got;
	int err = stage2_lookup(s, gpa, &got);

	for (unsigned i = 0; i < count; i++) {
		const struct range *r = &model[i];

		if (gpa < r->start || gpa >= r->end)
			continue;
		CHECK(!err && got.hpa == r->hpa + (gpa - r->start) && got.prot == r->prot);
		CHECK(got.type == shown_type(s, r->type) && got.leaf <= s->max_leaf);
		return;
	}
	CHECK(err == -ENOENT);
}

static unsigned tables_seen;
static u64 leaves_seen[LEAF_SIZES];

static void count_tables(const struct stage2 *s, const u64 *table, unsigned level)
{
	tables_seen++;
	for (unsigned i = 0; i < 512; i++) {
		if (!s->fmt->present(table[i]))
			continue;
		if (level == 0 || (level <= LEAF_1G && table[i] & BIT(7)))
			leaves_seen[level]++;
		else
			count_tables(s, pool_virt(table[i] & PTE_ADDR), level - 1);
	}
}

static void check_all(const struct stage2 *s)
{
	for (unsigned i = 0; i < edges; i++) {
		check_address(s, edge[i]);
		check_address(s, edge[i] - 1);
		check_address(s, edge[i] + PAGE_SIZE + 5);
	}
	for (unsigned i = 0; i < count; i++) {
		check_address(s, model[i].start);
		check_address(s, model[i].end - 1);
		check_address(s, model[i].end);
		check_address(s, model[i].start + (model[i].end - model[i].start) / 2);
	}
}

/* The counters, at the end: they take a walk of every table. */
static void check_counters(struct stage2 *s)
{
	/* As after a flush: until then a CPU may walk retired tables, where it finds nothing. */
	for (const u64 *t = s->retired; t; t = (const u64 *)(uintptr_t)t[0])
		for (unsigned i = 0; i < 512; i++)
			CHECK(!s->fmt->present(t[i]));
	stage2_reap(s);
	tables_seen = 0;
	memset(leaves_seen, 0, sizeof(leaves_seen));
	count_tables(s, s->root, STAGE2_LEVELS - 1);
	CHECK(s->tables == tables_seen && in_use == tables_seen);
	CHECK(!memcmp(s->leaves, leaves_seen, sizeof(leaves_seen)));
}

/* ---- one step ---- */

/* Addresses near the boundaries of all levels; sizes of some pages of each. */
static u64 address(struct fuzz_in *in)
{
	static const u64 base[] = {
		0,       PAGE_SIZE_2M, PAGE_SIZE_1G, BIT(39), BIT(48) - PAGE_SIZE_1G,
		BIT(47), BIT(40),      MIB(768)
	};
	u8 a = fuzz_u8(in), b = fuzz_u8(in);
	s64 offset = (s8)b;

	switch (a >> 3 & 3) {
	case 0: return base[a & 7] + (u64)offset * PAGE_SIZE;
	case 1: return base[a & 7] + (u64)offset * PAGE_SIZE_2M;
	case 2: return base[a & 7] + (u64)offset * PAGE_SIZE_1G;
	default: return a & 0x80 ? fuzz_number(in) : base[a & 7];
	}
}

static u64 length(struct fuzz_in *in)
{
	u8 a = fuzz_u8(in);

	switch (a >> 6) {
	case 0: return (a & 63) * PAGE_SIZE;
	case 1: return (a & 7) * PAGE_SIZE_2M + (a >> 3 & 7) * PAGE_SIZE;
	case 2:
		return (a & 3) * PAGE_SIZE_1G + (a >> 2 & 3) * PAGE_SIZE_2M +
		       (a >> 4 & 3) * PAGE_SIZE;
	default: return a & 32 ? fuzz_number(in) : PAGE_SIZE_2M;
	}
}

/* Leaves of 4 KiB over a range this long would fill the pool by far: not a case of interest. */
static bool too_long(const struct stage2 *s, u64 size)
{
	if (s->max_leaf == LEAF_4K)
		return size > MIB(4);
	return size > (s->max_leaf == LEAF_2M ? GIB(2) : GIB(8));
}

static bool bad_range(u64 gpa, u64 size)
{
	return !IS_ALIGNED(gpa | size, PAGE_SIZE) || gpa >= BIT(48) || size > BIT(48) - gpa;
}

static void map(struct stage2 *s, struct fuzz_in *in, u64 gpa, u64 size)
{
	static const enum memtype types[] = { MEMTYPE_UC, MEMTYPE_WC, MEMTYPE_WT,
					      MEMTYPE_WP, MEMTYPE_WB, MEMTYPE_UC_MINUS };
	u8 how = fuzz_u8(in);
	u64 hpa = how & 1 ? gpa & (BIT(48) - 1) : address(in) & (BIT(50) - 1);
	unsigned prot = STAGE2_R | (how & 2 ? STAGE2_W : 0) | (how & 4 ? STAGE2_X : 0);
	enum memtype type = types[(how >> 4) % ARRAY_SIZE(types)];
	bool bad = bad_range(gpa, size) || !IS_ALIGNED(hpa, PAGE_SIZE);
	int err;

	if (!bad && (too_long(s, size) || count > RANGES - 4 ||
		     (size > MIB(4) && !IS_ALIGNED(gpa ^ hpa, PAGE_SIZE_2M))))
		return;
	err = stage2_map(s, gpa, hpa, size, prot, type);
	CHECK((err == -EINVAL) == bad);
	if (bad)
		return;
	if (!err) {
		CHECK(!mapped(gpa, gpa + size));
		if (size)
			model[count++] = (struct range){ gpa, gpa + size, hpa, prot, type };
		return;
	}
	/* As its header says: what was mapped stays, and the caller takes all of it back. */
	CHECK(err == -EEXIST ? mapped(gpa, gpa + size) : err == -ENOMEM && in_use == limit);
	limit = PAGES;
	if (count < RANGES - 2 && !stage2_unmap(s, gpa, size))
		remove_range(gpa, gpa + size);
}

static void unmap(struct stage2 *s, u64 gpa, u64 size)
{
	int err;

	if (count > RANGES - 2)
		return;
	err = stage2_unmap(s, gpa, size);
	CHECK((err == -EINVAL) == bad_range(gpa, size));
	if (err == -EINVAL)
		return;
	/* A split that found no page: again with pages. */
	if (err) {
		CHECK(err == -ENOMEM && in_use == limit);
		limit = PAGES;
		CHECK(!stage2_unmap(s, gpa, size));
	}
	remove_range(gpa, gpa + size);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 how = fuzz_u8(&in);
	struct stage2 s;
	int err;

	count = edges = in_use = 0;
	limit = how & 8 ? fuzz_u8(&in) % PAGES : PAGES;
	memset(used, 0, sizeof(used));
	err = stage2_init(&s, how & 1 ? &ept_format : &npt_format, &mem,
			  (how >> 1 & 3) % LEAF_SIZES, -1);
	CHECK((err == -ENOMEM) == !limit);
	for (unsigned i = 0; !err && in.left && i < STEPS && in_use < PAGES - 12; i++) {
		u8 op = fuzz_u8(&in);
		u64 gpa = address(&in), n = length(&in);

		edge[edges++] = gpa;
		edge[edges++] = gpa + n;
		if (op & 1)
			map(&s, &in, gpa, n);
		else
			unmap(&s, gpa, n);
		check_address(&s, gpa);
		check_address(&s, gpa + n - 1);
	}
	if (!err) {
		check_all(&s);
		check_counters(&s);
		CHECK(pool_virt(stage2_root(&s)) == s.root);
	}
	stage2_destroy(&s);
	CHECK(!in_use);
	return 0;
}
