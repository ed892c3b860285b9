/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the free list of large physical extents. */
#include "kernel/memory/extent.h"

#include <margay/errno.h>
#include <margay/string.h>

static void insert_at(struct extent_list *list, unsigned i, u64 start, u64 end, unsigned node)
{
	memmove(&list->range[i + 1], &list->range[i], (list->count - i) * sizeof(list->range[0]));
	list->range[i] = (struct extent){ start, end, node };
	list->count++;
}

static void delete_at(struct extent_list *list, unsigned i)
{
	list->count--;
	memmove(&list->range[i], &list->range[i + 1], (list->count - i) * sizeof(list->range[0]));
}

/*
 * Takes [start, end), which lies inside range i, out of it. The caller has made sure of room for
 * one more.
 */
static void cut(struct extent_list *list, unsigned i, u64 start, u64 end)
{
	struct extent *r = &list->range[i];

	if (r->start < start && end < r->end) {
		insert_at(list, i + 1, end, r->end, r->node);
		list->range[i].end = start;
	} else if (r->start < start) {
		r->end = start;
	} else if (end < r->end) {
		r->start = end;
	} else {
		delete_at(list, i);
	}
}

/* Where a range that begins at `start` stands. */
static unsigned place_of(const struct extent_list *list, u64 start)
{
	unsigned i = 0;

	while (i < list->count && list->range[i].start < start)
		i++;
	return i;
}

/* Are they one, in this order? */
static bool joins(const struct extent *left, const struct extent *right)
{
	return left && right && left->end == right->start && left->node == right->node;
}

static bool overlaps(const struct extent *left, const struct extent *right)
{
	return left && right && left->end > right->start;
}

int extent_add(struct extent_list *list, u64 start, u64 end, unsigned node)
{
	const struct extent new = { start, end, node };
	unsigned i = place_of(list, start);
	struct extent *before = i > 0 ? &list->range[i - 1] : NULL;
	struct extent *after = i < list->count ? &list->range[i] : NULL;
	bool left = joins(before, &new);
	bool right = joins(&new, after);

	if (start >= end || !IS_ALIGNED(start | end, PAGE_SIZE) || overlaps(before, &new) ||
	    overlaps(&new, after))
		return -EINVAL;
	if (left && right) {
		before->end = after->end;
		delete_at(list, i);
	} else if (left) {
		before->end = end;
	} else if (right) {
		after->start = start;
	} else {
		if (list->count == EXTENT_MAX)
			return -ENOSPC;
		insert_at(list, i, start, end, node);
	}
	return 0;
}

int extent_remove(struct extent_list *list, u64 start, u64 end)
{
	for (unsigned i = 0; i < list->count;) {
		struct extent r = list->range[i];
		u64 from = MAX(r.start, start), to = MIN(r.end, end);

		if (from >= to) {
			i++;
			continue;
		}
		if (r.start < from && to < r.end && list->count == EXTENT_MAX)
			return -ENOSPC;
		cut(list, i, from, to);
		/*
		 * What is left of the range at i ends before `start`, or does not meet [start, end)
		 * any more.
		 */
		if (r.start < from || to < r.end)
			i++;
	}
	return 0;
}

int extent_set_node(struct extent_list *list, u64 start, u64 end, unsigned node)
{
	for (unsigned i = 0; i < list->count; i++) {
		struct extent r = list->range[i];
		u64 from = MAX(r.start, start), to = MIN(r.end, end);

		if (from >= to || r.node == node)
			continue;
		if (list->count + 2 > EXTENT_MAX)
			return -ENOSPC;
		cut(list, i, from, to);
		if (extent_add(list, from, to, node))
			return -ENOSPC;
		/*
		 * Adding may have merged with neighbours: look at everything again, the part done
		 * is skipped.
		 */
		i = (unsigned)-1;
	}
	return 0;
}

/*
 * Where in [start, end) a piece leaves the larger remainder; false: it does not fit. top: as high
 * as possible.
 */
static bool place(u64 start, u64 end, const struct extent_constraint *c, u64 *at)
{
	u64 low, high, from = MAX(start, c->min_addr),
		       to = c->max_addr ? MIN(end, c->max_addr) : end;

	if (from >= to || to - from < c->size)
		return false;
	low = ALIGN_UP(from, c->align);
	high = ALIGN_DOWN(to - c->size, c->align);
	if (low < from || low > high)
		return false;
	if (c->policy == EXTENT_TOP || high - start > end - low - c->size)
		*at = high;
	else
		*at = low;
	return true;
}

int extent_take(struct extent_list *list, const struct extent_constraint *c, u64 *start,
		unsigned *node)
{
	unsigned best = EXTENT_MAX;
	u64 best_at = 0;

	if (!c->size || !IS_ALIGNED(c->size, PAGE_SIZE) || c->align < PAGE_SIZE ||
	    (c->align & (c->align - 1)))
		return -EINVAL;
	/*
	 * Each piece that is out can cost one more range when it comes back: giving back must not
	 * fail.
	 */
	if (list->count + list->live + 2 > EXTENT_MAX)
		return -ENOSPC;

	for (unsigned i = 0; i < list->count; i++) {
		const struct extent *r = &list->range[i];
		u64 at, size = r->end - r->start;

		if ((c->node >= 0 && r->node != (unsigned)c->node) ||
		    !place(r->start, r->end, c, &at))
			continue;
		if (best == EXTENT_MAX || c->policy == EXTENT_TOP ||
		    size < list->range[best].end - list->range[best].start) {
			best = i;
			best_at = at;
		}
	}
	if (best == EXTENT_MAX)
		return -ENOMEM;
	*start = best_at;
	*node = list->range[best].node;
	cut(list, best, best_at, best_at + c->size);
	list->live++;
	return 0;
}

int extent_put(struct extent_list *list, u64 start, u64 size, unsigned node)
{
	int err;

	if (!size || start + size < start)
		return -EINVAL;
	err = extent_add(list, start, start + size, node);
	if (!err && list->live)
		list->live--;
	return err;
}

u64 extent_free_bytes(const struct extent_list *list, int node, u64 unit, u64 *largest)
{
	u64 sum = 0, max = 0;

	for (unsigned i = 0; i < list->count; i++) {
		const struct extent *r = &list->range[i];
		u64 from = ALIGN_UP(r->start, unit), to = ALIGN_DOWN(r->end, unit);

		if (from >= to || (node >= 0 && r->node != (unsigned)node))
			continue;
		sum += to - from;
		max = MAX(max, to - from);
	}
	if (largest)
		*largest = max;
	return sum;
}
