/* SPDX-License-Identifier: GPL-2.0-only */
/* See pieces.h. */
#include "vmm/dev/virtio/pieces.h"

#include <margay/mc_access.h>

/* What is left of the piece that the place is in, and at *host; 0: nothing to be copied. */
static inline u64 left(struct place *p, u8 **host)
{
	while (p->piece < p->end && p->at >= p->piece->size)
		p->at -= p->piece++->size;
	*host = NULL;
	if (p->piece == p->end || !p->piece->at)
		return 0;
	*host = p->piece->at + p->at;
	return p->piece->size - p->at;
}

enum copied pieces_copy(struct place *to, struct place *from, u64 size)
{
	while (size) {
		u8 *in, *out;
		u64 n = left(from, &in), room = left(to, &out);

		n = MIN(n, room);
		n = MIN(n, size);
		if (!n)
			return COPY_SHORT;
		if (!mc_copy(out, in, n))
			return COPY_LOST;
		to->at += n;
		from->at += n;
		size -= n;
	}
	return COPY_DONE;
}
