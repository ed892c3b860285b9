/* SPDX-License-Identifier: GPL-2.0-only */
/* See zeros.h. */
#include "kernel/memory/zeros.h"

#include "kernel/memory/extent.h"

static struct extent_list zeros;

bool zeros_forget(u64 start, u64 end)
{
	bool all = false;

	for (unsigned i = 0; i < zeros.count; i++)
		all = all || (zeros.range[i].start <= start && end <= zeros.range[i].end);
	if (extent_remove(&zeros, start, end))
		zeros.count = 0;
	return all;
}

void zeros_add(const struct host_extent *e)
{
	if (e->zero)
		extent_add(&zeros, e->base.v, e->base.v + e->size, (unsigned)e->node);
}
