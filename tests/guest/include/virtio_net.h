/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A driver of virtio's network interfaces by hand (virtio 1.2, 5.1), polled: one exit sends, and
 * then all is where it goes to.
 */
#ifndef TINY_VIRTIO_NET_H
#define TINY_VIRTIO_NET_H

#include "virtio.h"

#define VIRTIO_NET 0x10411af4u
#define NET_BUFFERS 64u
#define NET_BUFFER 2048u
#define NET_FRAME_MAX 1514u
enum { RECEIVE, SEND, CONTROL };
enum {
	NET_CSUM = 1 << 0,
	NET_GUEST_CSUM = 1 << 1,
	NET_GUEST_TSO4 = 1 << 7,
	NET_HOST_TSO4 = 1 << 11,
	NET_HOST_TSO6 = 1 << 12,
	NET_HOST_ECN = 1 << 13,
	NET_MRG_RXBUF = 1 << 15,
	NET_CTRL_VQ = 1 << 17,
	NET_MQ = 1 << 22,
};

struct net_header {
	u8 flags;
	u8 gso_type;
	u16 hdr_len;
	u16 gso_size;
	u16 csum_start;
	u16 csum_offset;
	u16 num_buffers;
};

struct net {
	struct virtio v;
	u8 mac[6];
	u16 seen; /* of what was received */
	volatile u8 buffer[NET_BUFFERS][NET_BUFFER];
	struct {
		struct net_header header;
		volatile u8 frame[NET_FRAME_MAX + 1];
	} __attribute__((packed)) out;
};

/* What the witness' frames hold, and nobody's else. */
#define NET_MARK 0xa75531c9924e6d13ull

static inline bool net_find(struct net *n, unsigned number)
{
	bool found = virtio_find(&n->v, VIRTIO_NET, number);

	for (unsigned i = 0; found && i < sizeof(n->mac); i++)
		n->mac[i] = (u8)mmio_read(n->v.area[4] + i, 1);
	return found;
}

/* With all buffers offered. */
static inline void net_start(struct net *n, u32 features)
{
	virtio_start_with(&n->v, 2, features);
	n->seen = 0;
	for (u16 i = 0; i < NET_BUFFERS; i++) {
		set_desc(&n->v.queue[RECEIVE], i, (u64)n->buffer[i], NET_BUFFER, DESC_WRITE, 0);
		offer(&n->v.queue[RECEIVE], i);
	}
}

/* The frame in `out`; true: the device has given it back. */
static inline bool net_send(struct net *n, u32 size)
{
	volatile struct virtq *q = &n->v.queue[SEND];

	set_desc(q, 0, (u64)&n->out, (u32)sizeof(n->out.header) + size, 0, 0);
	offer(q, 0);
	notify(&n->v, SEND);
	return q->used.index == q->avail.index;
}

/* The next frame that was received, until net_release(); NULL: none. */
static inline volatile u8 *net_peek(struct net *n, u32 *size)
{
	volatile struct virtq *q = &n->v.queue[RECEIVE];
	u32 id;

	if (n->seen == q->used.index)
		return 0;
	id = q->used.ring[n->seen % VIRTQ_SIZE].id;
	*size = q->used.ring[n->seen % VIRTQ_SIZE].len - (u32)sizeof(struct net_header);
	return check(id < NET_BUFFERS, "buffer %u was not offered", id)
		       ? n->buffer[id] + sizeof(struct net_header)
		       : 0;
}

static inline void net_release(struct net *n)
{
	volatile struct virtq *q = &n->v.queue[RECEIVE];

	offer(q, (u16)q->used.ring[n->seen++ % VIRTQ_SIZE].id);
}

static inline void net_address(volatile u8 *frame, const u8 *to, const u8 *from)
{
	for (unsigned i = 0; i < 6; i++) {
		frame[i] = to[i];
		frame[6 + i] = from[i];
	}
}

static inline bool net_same(const volatile u8 *a, const volatile u8 *b, u32 size)
{
	u32 i = 0;

	while (i < size && a[i] == b[i])
		i++;
	return i == size;
}

#endif
