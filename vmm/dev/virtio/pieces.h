/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: memory as a list of pieces at addresses of the host, and the one way in which virtio
 * devices copy: from a list to a list. Where the pieces are was judged by whoever made the list
 * (virtqueue.h); what is in them may change at any time, or be lost.
 */
#ifndef VMM_PIECES_H
#define VMM_PIECES_H

#include <margay/types.h>

struct piece {
	u8 *at; /* NULL: nobody's RAM, where each copy ends */
	u64 size;
};

/* In a list: so many bytes behind the beginning of a piece, which may be over its end. */
struct place {
	const struct piece *piece;
	const struct piece *end;
	u64 at;
};

/* COPY_SHORT: a list ends, or is no RAM there. What is before that may have been copied. */
enum copied { COPY_DONE, COPY_SHORT, COPY_LOST };

/* The next `size` bytes; both places go on behind what was copied. */
enum copied pieces_copy(struct place *to, struct place *from, u64 size);

#endif
