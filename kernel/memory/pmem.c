/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Physical memory. Guests get extents straight from the free list (extent.h); the LWK's small pages
 * come out of 512 KiB chunks of that list, whose first page holds the chunk's bitmap. A chunk
 * without pages in use goes back at once, so after any balanced sequence exactly as much is free as
 * before it.
 */
#include "kernel/memory/pmem.h"

#include <margay/errno.h>
#include <margay/spinlock.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/upcall.h"
#include "kernel/log/printk.h"
#include "kernel/memory/extent.h"
#include "kernel/memory/lost.h"
#include "kernel/memory/numa.h"
#include "kernel/memory/zeros.h"

/* Small, as each NUMA node has one at least, and fits into what is no 2 MiB page for guests. */
#define CHUNK_SIZE KIB(512)
#define CHUNK_PAGES (unsigned)(CHUNK_SIZE / PAGE_SIZE)
#define CHUNK_MAX_RUN (CHUNK_PAGES - 1) /* the first page is the header */
#define CHUNK_MAGIC 0x6d67795f6b6e6863ull
#define LOW_LIMIT MIB(1)
/* Above what firmware is known to scribble on after boot, and below video memory. */
#define LOW_PAGE_MIN KIB(64)
#define LOW_PAGE_MAX KIB(640)
#define EARLY_PIECE KIB(256)

/* At the start of each chunk. */
struct chunk {
	u64 magic;
	struct chunk *next;
	unsigned node;
	unsigned used; /* pages, without the header's */
	u64 bitmap[CHUNK_PAGES / 64];
};
static_assert(sizeof(struct chunk) <= PAGE_SIZE, "chunk header");

static struct spinlock pmem_lock; /* guards everything below, and zeros.c */
static struct extent_list free_list;
static struct extent kept;       /* nobody's; not guarded */
static bool took_zeros;          /* take()'s last */
static struct chunk *chunks;
static u64 pool_bytes, used_bytes, image_bytes, early_bytes, early_next, early_end, low_page;
static u64 node_bytes[NUMA_MAX_NODES]; /* as pmem_start() found them; not guarded */

/*
 * The lowest one: the extended BIOS data area, which not every memory map leaves out, is at the
 * other end.
 */
static u64 find_low_page(void)
{
	for (unsigned i = 0; i < free_list.count; i++) {
		u64 page = MAX(free_list.range[i].start, LOW_PAGE_MIN);

		if (page < free_list.range[i].end && page < LOW_PAGE_MAX)
			return page;
	}
	return 0;
}

int pmem_init(const struct bootinfo *bi, u64 image_start, u64 image_end, struct extent keep)
{
	int err = 0;

	image_bytes = ALIGN_UP(image_end, PAGE_SIZE) - ALIGN_DOWN(image_start, PAGE_SIZE);
	for (unsigned i = 0; i < bi->nr_ranges && !err; i++)
		if (bi->range[i].type == BOOT_MEMORY_USABLE)
			err = extent_add(&free_list, bi->range[i].start, bi->range[i].end, 0);
	if (!err)
		err = extent_remove(&free_list, ALIGN_DOWN(image_start, PAGE_SIZE),
				    ALIGN_UP(image_end, PAGE_SIZE));
	for (unsigned i = 0; i < bi->nr_modules && !err; i++)
		err = extent_remove(&free_list, ALIGN_DOWN(bi->module[i].start, PAGE_SIZE),
				    ALIGN_UP(bi->module[i].end, PAGE_SIZE));
	if (!err) {
		low_page = find_low_page();
		kept = keep;
		err = extent_remove(&free_list, 0, LOW_LIMIT) ||
				      extent_remove(&free_list, keep.start, keep.end)
			      ? -ENOSPC
			      : 0;
	}
	/* The modules' original places come back one by one. */
	free_list.live = bi->nr_modules;
	if (err)
		printk_error("memory: the firmware's memory map has more than %u pieces",
			     EXTENT_MAX);
	return err;
}

u64 pmem_early_page(void)
{
	struct extent_constraint c = {
		.size = EARLY_PIECE,
		.align = PAGE_SIZE,
		.node = -1,
		.max_addr = GIB(4),
		.policy = EXTENT_TOP,
	};
	unsigned node;
	u64 page;

	if (early_next == early_end) {
		if (extent_take(&free_list, &c, &early_next, &node)) {
			c.size = PAGE_SIZE;
			if (extent_take(&free_list, &c, &early_next, &node))
				return 0;
		}
		early_end = early_next + c.size;
		/* These pages stay for good but the unused rest of the last piece. */
		free_list.live--;
	}
	page = early_next;
	early_next += PAGE_SIZE;
	early_bytes += PAGE_SIZE;
	return page;
}

/* Gives what is free in [from, to) its nodes. */
static void assign_nodes(u64 from, u64 to)
{
	u64 start, end;
	unsigned node;

	for (unsigned i = 0; numa_memory(i, &start, &end, &node); i++)
		if (extent_set_node(&free_list, MAX(start, from), MIN(end, to), node))
			printk_error(
				"memory: more than %u pieces: some memory is counted on the wrong NUMA node",
				EXTENT_MAX);
}

u64 pmem_low_page(void)
{
	return low_page;
}

void pmem_start(void)
{
	if (early_next != early_end && extent_add(&free_list, early_next, early_end, 0))
		printk_error("memory: %#lx-%#lx is lost: more than %u pieces", early_next,
			     early_end - 1, EXTENT_MAX);
	assign_nodes(0, ~0ull);
	for (unsigned node = 0; node < numa_node_count(); node++)
		node_bytes[node] = extent_free_bytes(&free_list, (int)node, PAGE_SIZE_2M, NULL);
}

/* First run of free pages, or 0: the header's page is never part of one. */
static unsigned find_run(const struct chunk *c, unsigned count)
{
	unsigned run = 0;

	for (unsigned i = 1; i < CHUNK_PAGES; i++) {
		run = c->bitmap[i / 64] & BIT(i % 64) ? 0 : run + 1;
		if (run == count)
			return i - count + 1;
	}
	return 0;
}

static void mark(struct chunk *c, unsigned first, unsigned count, bool used)
{
	for (unsigned i = first; i < first + count; i++) {
		if (!!(c->bitmap[i / 64] & BIT(i % 64)) == used)
			upcall_panic("memory: page %#lx is %s already",
				     virt_to_phys(c) + i * PAGE_SIZE, used ? "in use" : "free");
		c->bitmap[i / 64] ^= BIT(i % 64);
	}
	c->used += used ? count : -count;
}

/* Out of the free list, but for pages that the machine has lost meanwhile. */
static int take(const struct extent_constraint *c, u64 *start, unsigned *node)
{
	u64 lost = host_memory_lost_in(0, ~0ull);
	int err;

	while (lost != ~0ull) {
		extent_remove(&free_list, lost, lost + PAGE_SIZE);
		lost = host_memory_lost_in(lost + PAGE_SIZE, ~0ull);
	}
	err = extent_take(&free_list, c, start, node);
	took_zeros = !err && zeros_forget(*start, *start + c->size);
	return err;
}

static struct chunk *new_chunk(int node)
{
	/*
	 * At the end of its node: guests want the aligned beginning, and low memory for their
	 * devices.
	 */
	struct extent_constraint e = {
		.size = CHUNK_SIZE, .align = CHUNK_SIZE, .node = node, .policy = EXTENT_TOP
	};
	struct chunk *c;
	unsigned on;
	u64 pa;

	if (take(&e, &pa, &on))
		return NULL;
	c = phys_to_virt(pa);
	*c = (struct chunk){ .magic = CHUNK_MAGIC, .next = chunks, .node = on, .bitmap = { 1 } };
	chunks = c;
	pool_bytes += CHUNK_SIZE;
	return c;
}

static void drop_chunk(struct chunk *c)
{
	struct chunk **link = &chunks;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	c->magic = 0;
	pool_bytes -= CHUNK_SIZE;
	if (extent_put(&free_list, virt_to_phys(c), CHUNK_SIZE, c->node))
		upcall_panic("memory: a page chunk at %#lx is free twice", virt_to_phys(c));
}

static void *take_pages(unsigned count, int node)
{
	struct chunk *c;
	unsigned first = 0;

	for (c = chunks; c; c = c->next) {
		if (node >= 0 && c->node != (unsigned)node)
			continue;
		first = find_run(c, count);
		if (first)
			break;
	}
	if (!c) {
		c = new_chunk(node);
		if (!c)
			return NULL;
		first = 1;
	}
	mark(c, first, count, true);
	return (u8 *)c + first * PAGE_SIZE;
}

/* What is too large for a chunk is an extent of its own; the count says so when it comes back. */
static u64 large_size(unsigned count)
{
	return ALIGN_UP((u64)count * PAGE_SIZE, CHUNK_SIZE);
}

static void *take_large(unsigned count, int node)
{
	struct extent_constraint e = { .size = large_size(count),
				       .align = CHUNK_SIZE,
				       .node = node };
	unsigned on;
	u64 pa;

	if (take(&e, &pa, &on))
		return NULL;
	pool_bytes += e.size;
	return phys_to_virt(pa);
}

void *pmem_pages_alloc(unsigned count, int node)
{
	void *pages;

	if (!count)
		return NULL;
	spin_lock(&pmem_lock);
	pages = count > CHUNK_MAX_RUN ? take_large(count, node) : take_pages(count, node);
	if (!pages && node >= 0)
		pages = count > CHUNK_MAX_RUN ? take_large(count, -1) : take_pages(count, -1);
	used_bytes += pages ? (u64)count * PAGE_SIZE : 0;
	spin_unlock(&pmem_lock);
	if (pages)
		memset(pages, 0, (size_t)count * PAGE_SIZE);
	return pages;
}

void pmem_pages_free(void *pages, unsigned count)
{
	u64 pa;
	struct chunk *c;

	if (!pages || !count)
		return;
	pa = virt_to_phys(pages);
	spin_lock(&pmem_lock);
	used_bytes -= (u64)count * PAGE_SIZE;
	if (count > CHUNK_MAX_RUN) {
		if (extent_put(&free_list, pa, large_size(count), numa_node_of_address(pa)))
			upcall_panic("memory: pages at %#lx are free twice", pa);
		pool_bytes -= large_size(count);
	} else {
		c = phys_to_virt(ALIGN_DOWN(pa, CHUNK_SIZE));
		if (c->magic != CHUNK_MAGIC ||
		    (pa - virt_to_phys(c)) / PAGE_SIZE + count > CHUNK_PAGES || (void *)c == pages)
			upcall_panic("memory: %#lx was not allocated as a page", pa);
		mark(c, (unsigned)((pa - virt_to_phys(c)) / PAGE_SIZE), count, false);
		if (!c->used)
			drop_chunk(c);
	}
	spin_unlock(&pmem_lock);
}

static int take_extent(const struct host_extent_request *req, u64 align, enum extent_policy policy,
		       struct host_extent *out)
{
	struct extent_constraint c = {
		.size = ALIGN_UP(req->size, PAGE_SIZE),
		.align = align,
		.node = req->node,
		.min_addr = req->min_addr,
		.max_addr = req->max_addr,
		.policy = policy,
	};
	unsigned node;
	int err;

	/* Cannot be there, and would wrap when rounded. */
	if (req->size > BIT(52))
		return -ENOMEM;
	spin_lock(&pmem_lock);
	err = take(&c, &out->base.v, &node);
	out->zero = took_zeros;
	spin_unlock(&pmem_lock);
	out->size = c.size;
	out->node = (int)node;
	return err ? -ENOMEM : 0;
}

int host_extent_alloc(const struct host_extent_request *req, struct host_extent *out)
{
	if (!req->align && req->size >= PAGE_SIZE_1G &&
	    !take_extent(req, PAGE_SIZE_1G, EXTENT_BEST_FIT, out))
		return 0;
	return take_extent(req, req->align ? req->align : PAGE_SIZE_2M, EXTENT_BEST_FIT, out);
}

int pmem_extent_alloc_top(const struct host_extent_request *req, struct host_extent *out)
{
	return take_extent(req, req->align ? req->align : PAGE_SIZE_2M, EXTENT_TOP, out);
}

void host_extent_free(const struct host_extent *e)
{
	int err;

	spin_lock(&pmem_lock);
	err = extent_put(&free_list, e->base.v, e->size, (unsigned)e->node);
	zeros_add(e);
	spin_unlock(&pmem_lock);
	if (err)
		upcall_panic("memory: extent %#lx, %#lx bytes, is free twice", e->base.v, e->size);
}

void pmem_release(u64 start, u64 end)
{
	start = MAX(ALIGN_DOWN(start, PAGE_SIZE), LOW_LIMIT);
	end = ALIGN_UP(end, PAGE_SIZE);
	if (start >= end)
		return;
	spin_lock(&pmem_lock);
	if (extent_put(&free_list, start, end - start, numa_node_of_address(start)) ||
	    extent_remove(&free_list, kept.start, kept.end))
		printk_error("memory: %#lx-%#lx cannot be given back", start, end - 1);
	assign_nodes(start, end);
	spin_unlock(&pmem_lock);
}

u64 host_mem_free(int node, u64 *largest)
{
	u64 sum;

	spin_lock(&pmem_lock);
	sum = extent_free_bytes(&free_list, node, PAGE_SIZE_2M, largest);
	spin_unlock(&pmem_lock);
	return sum;
}

bool host_mem_piece(unsigned i, struct host_extent *out)
{
	bool found = false;

	spin_lock(&pmem_lock);
	for (unsigned k = 0; !found && k < free_list.count; k++) {
		const struct extent *r = &free_list.range[k];
		u64 start = ALIGN_UP(r->start, PAGE_SIZE_2M),
		    end = ALIGN_DOWN(r->end, PAGE_SIZE_2M);

		if (start < end && !i--) {
			*out = (struct host_extent){ .base = hpa(start),
						     .size = end - start,
						     .node = (int)r->node };
			found = true;
		}
	}
	spin_unlock(&pmem_lock);
	return found;
}

u64 host_node_memory(unsigned node)
{
	return node < ARRAY_SIZE(node_bytes) ? node_bytes[node] : 0;
}

u64 host_own_bytes(u64 *used)
{
	u64 held, always = image_bytes + early_bytes;

	spin_lock(&pmem_lock);
	*used = always + used_bytes;
	held = always + pool_bytes;
	spin_unlock(&pmem_lock);
	return held;
}

u64 pmem_early_bytes(void)
{
	return early_bytes;
}
