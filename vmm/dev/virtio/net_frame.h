/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: frames with work left to be done, as virtio's drivers hand them over (virtio 1.2,
 * 5.1.6): a checksum that is to be filled in, a TCP segment that is larger than a frame. What is
 * judged and changed is a copy that no guest can write to.
 */
#ifndef VMM_NET_FRAME_H
#define VMM_NET_FRAME_H

#include <margay/types.h>

#define NET_MTU_MAX 9000u
#define NET_ETHERNET 14u
/* IEEE 802.1Q: one is let through; whether it is looked at is the port's (net_vlan.h) */
#define NET_TAG 4u

/* Of the network's byte order. */
static inline u32 net_get16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static inline void net_put16(u8 *p, u32 value)
{
	p[0] = (u8)(value >> 8);
	p[1] = (u8)value;
}

#define NET_FRAME_MAX (NET_ETHERNET + NET_TAG + NET_MTU_MAX)
#define NET_LARGE_MAX (NET_ETHERNET + NET_TAG + 65535u) /* before it is cut */
/* Linux' own least; with less a frame would be too much work */
#define NET_MSS_MIN 48u
/* Ethernet with a tag, IPv4 and TCP with all options: 138 */
#define NET_HEADERS_MAX 160u

/* virtio 1.2, 5.1.6: the header of each frame. */
struct net_header {
	u8 flags;
	u8 gso_type;
	u16 hdr_len;
	u16 gso_size;
	u16 csum_start;
	u16 csum_offset;
	u16 num_buffers;
};
static_assert(sizeof(struct net_header) == 12, "virtio 1.2, 5.1.6");
enum { NET_NEEDS_CSUM = 1 };
enum { NET_GSO_NONE, NET_GSO_TCPV4 = 1, NET_GSO_TCPV6 = 4, NET_GSO_ECN = 0x80 };

/* Where what is in a large frame, by net_judge(). */
struct net_large {
	/* offsets: IP, TCP, its data */
	u32 l3;
	u32 l4;
	u32 headers;
	u32 mss;             /* bytes of data in each but the last */
	bool v6;
};

/* Why nobody gets a frame. */
enum net_verdict { NET_FINE, NET_MALFORMED, NET_TOO_LARGE };

/*
 * Judges a header and the first n bytes of its frame of `size` in all; n is MIN(size,
 * NET_HEADERS_MAX). Sets in *h what a receiver may be handed, and with gso_type *large.
 */
enum net_verdict net_judge(struct net_header *h, const u8 *head, u32 n, u32 size, u32 mtu,
			   struct net_large *large);
/* Fills in the checksum that the header, judged before, wants; all of the frame. */
void net_fill_checksum(const struct net_header *h, u8 *frame, u32 size);
/* How many frames a large one of `size` becomes. */
u32 net_segments(const struct net_large *large, u32 size);
struct net_piece {
	u32 at;
	u32 size;
};
/*
 * Where in the large frame the data of the i-th of these is: as much as out[] has room for behind
 * the headers.
 */
struct net_piece net_piece(const struct net_large *large, u32 size, u32 i);
/*
 * The i-th of these, with its checksums, in out[NET_FRAME_MAX], where its data is already; head: of
 * the large one. Its size.
 */
u32 net_segment(const struct net_large *large, const u8 *head, u32 size, u32 i, u8 *out);
/*
 * Of the connection that a frame, of which these are the first n bytes, belongs to: the same in
 * both directions.
 */
u32 net_flow(const u8 *head, u32 n);

#endif
