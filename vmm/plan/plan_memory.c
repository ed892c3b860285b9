/* SPDX-License-Identifier: GPL-2.0-only */
/* The planner's choice of memory, and the guest-physical map of what it chose (see plan.h). */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/plan/plan.h"

/*
 * Of a guest with devices: for Linux' real-mode code, what it is handed over in, its reset vector;
 * never for DMA.
 */
#define LOW_RAM MIB(1)
/* What such a guest gets below 4 GiB if it can, for devices that reach no further. */
#define LOW_DMA MIB(128)
/* What a VM that takes all leaves for the hypervisor's own, beside its tables. */
#define KEEP_NODE MIB(2)
#define KEEP_CPU KIB(64)

/* ---- how much of each node ---------------------------------------------------- */

u64 plan_free(const struct plan_host *h, unsigned node, u64 *largest)
{
	u64 sum = 0, max = 0;

	for (unsigned i = 0; i < h->nr_pieces; i++) {
		if (h->piece[i].node != node)
			continue;
		sum += h->piece[i].end - h->piece[i].start;
		max = MAX(max, h->piece[i].end - h->piece[i].start);
	}
	if (largest)
		*largest = max;
	return sum;
}

/* All of a node but what the second-level tables of this VM and its CPUs' own data take there. */
static u64 all_of(const struct plan_host *h, const struct vm_config *c, unsigned node,
		  unsigned cpus)
{
	u64 bytes = plan_free(h, node, NULL);
	u64 keep = KEEP_NODE + cpus * KEEP_CPU + (bytes >> (c->leaf == VM_LEAF_4K ? 9 : 18));

	keep = ALIGN_UP(keep, PAGE_SIZE_2M) + (plan_for_devices(c) ? PAGE_SIZE_2M : 0);
	return bytes > keep ? bytes - keep : 0;
}

static bool has_cpus(const struct plan_host *h, unsigned node)
{
	for (unsigned i = 0; i < h->nr_cpus; i++)
		if (h->cpu[i].node == node)
			return true;
	return false;
}

/* The nearest node that passes; from itself if none does. */
static unsigned nearest(const struct plan_host *h, unsigned from, const u64 *bytes)
{
	unsigned best = from;

	for (unsigned n = 0; n < plan_nodes(h); n++)
		if (bytes[n] && (!bytes[best] || h->distance[from][n] < h->distance[from][best]))
			best = n;
	return best;
}

/*
 * `memory = 12G`: each node its CPUs' part, in 2 MiB pages; what does not divide goes to the first.
 */
static void split(const struct plan_host *h, u64 total, const unsigned *cpus, u64 *demand)
{
	u64 count = 0, pages = total / PAGE_SIZE_2M, left = pages;
	unsigned first = plan_nodes(h);

	for (unsigned n = 0; n < plan_nodes(h); n++)
		count += cpus[n];
	for (unsigned n = 0; n < plan_nodes(h); n++) {
		u64 part = pages * cpus[n] / count;

		demand[n] = part * PAGE_SIZE_2M;
		left -= part;
		if (cpus[n] && first == plan_nodes(h))
			first = n;
	}
	demand[first] += left * PAGE_SIZE_2M;
}

void plan_demand(const struct plan_host *h, const struct vm_config *c, const unsigned cpus[],
		 u64 demand[])
{
	memset(demand, 0, PLAN_NODES * sizeof(demand[0]));
	for (unsigned i = 0; i < plan_memory_nodes(c); i++) {
		unsigned n = c->memory_node[i].node;

		demand[n] =
			c->memory_node[i].size ? c->memory_node[i].size : all_of(h, c, n, cpus[n]);
	}
	if (plan_memory_nodes(c))
		return;
	if (c->memory) {
		split(h, c->memory, cpus, demand);
		/*
		 * A CPU of a node that never had memory uses the nearest node's: so does the bare
		 * machine.
		 */
		for (unsigned n = 0; n < plan_nodes(h); n++) {
			unsigned to = h->node_memory[n] ? n : nearest(h, n, h->node_memory);
			u64 bytes = demand[n];

			demand[n] = 0;
			demand[to] += bytes;
		}
		return;
	}
	for (unsigned n = 0; n < plan_nodes(h); n++)
		if (cpus[n] || !has_cpus(h, n))
			demand[n] = all_of(h, c, n, cpus[n]);
}

/* ---- pieces -------------------------------------------------------------------- */

/* Takes [base, base+size) out of piece i. */
static void cut(struct plan_host *h, unsigned i, u64 base, u64 size)
{
	struct plan_piece *piece = &h->piece[i], tail = { base + size, piece->end, piece->node };

	piece->end = base;
	if (piece->start == piece->end) {
		*piece = tail;
		if (tail.start != tail.end)
			return;
		memmove(piece, piece + 1, (--h->nr_pieces - i) * sizeof(*piece));
	} else if (tail.start != tail.end && h->nr_pieces < PLAN_PIECES) {
		memmove(piece + 2, piece + 1, (h->nr_pieces++ - i - 1) * sizeof(*piece));
		piece[1] = tail;
	}
}

/* Removes [start, end) from what may be taken. */
static void forbid(struct plan_host *h, u64 start, u64 end)
{
	for (unsigned i = h->nr_pieces; i-- > 0;) {
		u64 from = MAX(h->piece[i].start, start), to = MIN(h->piece[i].end, end);

		if (from < to)
			cut(h, i, from, to - from);
	}
}

void plan_forbid_holes(struct plan_host *h)
{
	forbid(h, GPA_HOLE_START, GPA_HOLE_END);
	forbid(h, GPA_HT_START, GPA_HT_END);
}

static int take_piece(struct plan_host *h, unsigned i, u64 base, u64 size, struct plan *p)
{
	if (p->nr_extents == PLAN_EXTENTS)
		return -ENOSPC;
	p->extent[p->nr_extents++] = (struct plan_extent){ base, size, h->piece[i].node };
	cut(h, i, base, size);
	return 0;
}

/*
 * The smallest piece of a node with `size` bytes from a multiple of `align` on; or the lowest.
 * False: none.
 */
static bool fit(const struct plan_host *h, unsigned node, u64 size, u64 align, bool lowest,
		unsigned *at, u64 *base)
{
	u64 best = ~0ull;

	for (unsigned i = 0; i < h->nr_pieces && !(lowest && best != ~0ull); i++) {
		const struct plan_piece *piece = &h->piece[i];
		u64 start = ALIGN_UP(piece->start, align);

		if (piece->node != node || start >= piece->end || piece->end - start < size ||
		    piece->end - piece->start >= best)
			continue;
		best = piece->end - piece->start;
		*at = i;
		*base = start;
	}
	return best != ~0ull;
}

static bool largest(const struct plan_host *h, unsigned node, unsigned *at)
{
	u64 best = 0;

	for (unsigned i = 0; i < h->nr_pieces; i++) {
		u64 size = h->piece[i].end - h->piece[i].start;

		if (h->piece[i].node == node && size > best) {
			best = size;
			*at = i;
		}
	}
	return best;
}

/* One extent of up to `want` bytes on a node; what it brings. 0: there is none. */
static u64 take_one(struct plan_host *h, const struct vm_config *c, unsigned node, u64 want,
		    struct plan *p)
{
	bool low = plan_for_devices(c),
	     large = !low && c->leaf == VM_LEAF_1G && h->leaf_1g && want >= PAGE_SIZE_1G;
	unsigned i = 0;
	u64 base = 0;

	if (!(large && fit(h, node, want, PAGE_SIZE_1G, false, &i, &base)) &&
	    !fit(h, node, want, PAGE_SIZE_2M, low, &i, &base)) {
		if (!largest(h, node, &i))
			return 0;
		base = h->piece[i].start;
		want = MIN(want, h->piece[i].end - base);
	}
	return take_piece(h, i, base, want, p) ? 0 : want;
}

static u64 take_node(struct plan_host *h, const struct vm_config *c, unsigned node, u64 want,
		     struct plan *p)
{
	u64 got = 0, base = 0;
	unsigned i = 0;

	/* Memory for devices first, where all the rest would lie above 4 GiB. */
	if (plan_for_devices(c) && want > LOW_DMA &&
	    fit(h, node, LOW_DMA, PAGE_SIZE_2M, true, &i, &base) &&
	    base + LOW_DMA <= GPA_HOLE_START && h->piece[i].end - base < want &&
	    !take_piece(h, i, base, LOW_DMA, p))
		got = LOW_DMA;
	while (got < want) {
		u64 n = take_one(h, c, node, want - got, p);

		if (!n)
			break;
		got += n;
	}
	return got;
}

static int refuse_memory(const struct plan_host *h, const struct vm_config *c, const u64 *wanted,
			 const u64 *free, const u64 *piece, struct config_error *err)
{
	char list[200] = "";

	for (unsigned i = 0; i < plan_nodes(h); i++) {
		char part[32] = "", pieces[48] = "";
		size_t n = strlen(list);

		if (wanted[i])
			snprintf(part, sizeof(part), "%luM of ", wanted[i] >> 20);
		if (piece[i] != free[i])
			snprintf(pieces, sizeof(pieces), " in pieces up to %luM", piece[i] >> 20);
		snprintf(list + n, sizeof(list) - n, "%s node%u %s%luM free%s", i ? ";" : "", i,
			 part, free[i] >> 20, pieces);
	}
	vm_config_error(err, c->file, c->line_memory, "memory: not enough:%s", list);
	return -ENOMEM;
}

/* The rest of what a node could not give, from the nearest that can. */
static u64 take_remote(struct plan_host *h, const struct vm_config *c, unsigned node, u64 want,
		       struct plan *p)
{
	u64 bytes[PLAN_NODES], got = 0;

	while (got < want) {
		unsigned from;
		u64 n;

		for (unsigned i = 0; i < plan_nodes(h); i++)
			bytes[i] = plan_free(h, i, NULL);
		from = nearest(h, node, bytes);
		n = bytes[from] ? take_node(h, c, from, MIN(want - got, bytes[from]), p) : 0;
		if (!n)
			break;
		got += n;
	}
	return got;
}

/* ---- the map ------------------------------------------------------------------- */

/* GPA 0 and 1 GiB leaves want an aligned address: the piece before the first one goes behind it. */
static int add_first(struct gpa_map *map, const struct plan_extent *e)
{
	u64 aligned = ALIGN_UP(e->base, PAGE_SIZE_1G), head = aligned - e->base;
	int err;

	if (!head || e->size < head + PAGE_SIZE_1G)
		return gpa_map_add(map, e->base, e->size, (int)e->node);
	err = gpa_map_add(map, aligned, e->size - head, (int)e->node);
	return err ? err : gpa_map_add(map, e->base, head, (int)e->node);
}

static int map_offset(struct plan *p)
{
	int err = 0;

	for (unsigned i = 0; !err && i < p->nr_extents; i++)
		err = i ? gpa_map_add(&p->map, p->extent[i].base, p->extent[i].size,
				      (int)p->extent[i].node)
			: add_first(&p->map, &p->extent[i]);
	return err;
}

static void sort_extents(struct plan *p)
{
	for (unsigned i = 1; i < p->nr_extents; i++)
		for (unsigned k = i; k > 0 && p->extent[k - 1].base > p->extent[k].base; k--) {
			struct plan_extent e = p->extent[k];

			p->extent[k] = p->extent[k - 1];
			p->extent[k - 1] = e;
		}
}

/*
 * Where the n-th extent goes in the order of the host's addresses. With
 * windows: below 4 GiB where the host has it below 4 GiB, and a page away from
 * what is not its neighbour there, too, so that no buffer lies across two
 * windows. None gets a higher address than it has on the host: what is low
 * stays below the hole, and the highest is the highest on both sides.
 */
static u64 place_extent(const struct vm_config *c, const struct plan *p, unsigned n)
{
	u64 base = p->extent[n].base, end = gpa_map_end(&p->map);

	if (c->memory_map == VM_MAP_IDENTITY)
		return base;
	if (base >= GPA_HOLE_END && end < GPA_HOLE_END)
		return GPA_HOLE_END;
	return n && p->extent[n - 1].base + p->extent[n - 1].size == base ? end : end + PAGE_SIZE;
}

/* The low RAM comes from anywhere: the last extent taken. */
static int map_for_devices(const struct vm_config *c, struct plan *p)
{
	const struct plan_extent low = p->extent[p->nr_extents - 1];
	int err = gpa_map_add(&p->map, low.base, LOW_RAM, (int)low.node);

	p->nr_extents--;
	sort_extents(p);
	for (unsigned i = 0; !err && i < p->nr_extents; i++)
		err = gpa_map_add_from(&p->map, place_extent(c, p, i), p->extent[i].base,
				       p->extent[i].size, (int)p->extent[i].node);
	p->extent[p->nr_extents++] = low;
	return err;
}

int plan_memory(struct plan_host *h, const struct vm_config *c, u64 demand[], struct plan *p,
		struct config_error *err)
{
	u64 free[PLAN_NODES], piece[PLAN_NODES], total = 0;
	int full;

	for (unsigned n = 0; n < plan_nodes(h); n++)
		free[n] = plan_free(h, n, &piece[n]);
	for (unsigned n = 0; n < plan_nodes(h); n++) {
		u64 got = demand[n] ? take_node(h, c, n, demand[n], p) : 0;

		if (IS_ENABLED(CONFIG_NUMA) && got < demand[n] && c->remote_memory)
			got += take_remote(h, c, n, demand[n] - got, p);
		if (got < demand[n])
			return refuse_memory(h, c, demand, free, piece, err);
		total += got;
	}
	if (total < VM_MEMORY_MIN)
		return refuse_memory(h, c, demand, free, piece, err);
	if (plan_for_devices(c) && !take_remote(h, c, h->cpu[p->cpu[0]].node, PAGE_SIZE_2M, p))
		return refuse_memory(h, c, demand, free, piece, err);
	full = plan_for_devices(c) ? map_for_devices(c, p) : map_offset(p);
	if (full) {
		vm_config_error(err, c->file, c->line_memory, "memory: in more than %u pieces",
				PLAN_EXTENTS);
		return -ENOMEM;
	}
	if (gpa_map_end(&p->map) > BIT(h->phys_bits))
		return vm_config_error(err, c->file, c->line_memory,
				       "memory: its end is beyond the %u address bits of this CPU",
				       h->phys_bits);
	return 0;
}
