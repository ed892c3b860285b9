/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What guests have written, by its place in all of that (vmm/slots/output_log.h): for who reads on
 * where he has stopped.
 */
#include "vmm/slots/output_log.h"

#include <margay/host.h>

u64 output_log_range(unsigned id, u64 *from)
{
	struct output_ring *r = &output_rings[id];
	u64 end;

	spin_lock(&r->lock);
	end = r->head;
	*from = MIN(MAX(*from, end - MIN(end, r->size)), end);
	spin_unlock(&r->lock);
	return end;
}

void output_log_copy(unsigned id, u64 from, u8 *to, u32 n)
{
	struct output_ring *r = &output_rings[id];

	spin_lock(&r->lock);
	for (u32 i = 0; i < n; i++)
		to[i] = r->data[(from + i) % r->size];
	spin_unlock(&r->lock);
}

void output_log_forget(unsigned id)
{
	struct output_ring *r = &output_rings[id];

	spin_lock(&r->lock);
	r->head = 0;
	spin_unlock(&r->lock);
}
