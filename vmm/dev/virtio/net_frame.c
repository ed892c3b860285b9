/* SPDX-License-Identifier: GPL-2.0-only */
/* See net_frame.h. RFC 791 (IPv4), 8200 (IPv6), 9293 (TCP), 1071 (checksums), 3168, 6.1.2 (ECN). */
#include "vmm/dev/virtio/net_frame.h"

#include <margay/string.h>

#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu
#define TYPE_TAG 0x8100u
#define PROTOCOL_TCP 6u
#define PROTOCOL_UDP 17u
#define IPV4_HEADER 20u /* without options */
#define IPV6_HEADER 40u
#define TCP_HEADER 20u
enum {
	IPV4_LENGTH = 2,
	IPV4_ID = 4,
	IPV4_FRAGMENT = 6,
	IPV4_PROTOCOL = 9,
	IPV4_CHECKSUM = 10,
	IPV4_ADDRESSES = 12
};
enum { IPV6_LENGTH = 4, IPV6_NEXT = 6, IPV6_ADDRESSES = 8 };
enum { TCP_SEQUENCE = 4, TCP_OFFSET = 12, TCP_FLAGS = 13, TCP_CHECKSUM = 16 };
enum { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };

static u32 get32(const u8 *p)
{
	return net_get16(p) << 16 | net_get16(p + 2);
}

static void put32(u8 *p, u32 value)
{
	net_put16(p, value >> 16);
	net_put16(p + 2, value);
}

/*
 * RFC 1071: the sum of 16-bit words, the last one filled up with zero; two at once while there are.
 */
static u64 add(u64 sum, const u8 *p, u32 n)
{
	for (; n > 3; p += 4, n -= 4)
		sum += get32(p);
	for (; n > 1; p += 2, n -= 2)
		sum += net_get16(p);
	return n ? sum + ((u32)p[0] << 8) : sum;
}

static u32 fold(u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~(u32)sum & 0xffff;
}

/* Where the network header is, behind one tag; its type in *type. 0: not in what there is. */
static u32 network(const u8 *head, u32 n, u32 *type)
{
	u32 at = NET_ETHERNET;

	if (n < at)
		return 0;
	*type = net_get16(head + at - 2);
	if (*type == TYPE_TAG) {
		at += NET_TAG;
		*type = n < at ? 0 : net_get16(head + at - 2);
	}
	return n < at ? 0 : at;
}

/* ---- judging --------------------------------------------------------------------------- */

/* But for the size of what it is cut into. */
static bool judge_large(struct net_header *h, const u8 *head, u32 n, u32 size, struct net_large *l)
{
	bool v6 = (h->gso_type & ~NET_GSO_ECN) == NET_GSO_TCPV6;
	u32 wanted = v6 ? TYPE_IPV6 : TYPE_IPV4, least = v6 ? IPV6_HEADER : IPV4_HEADER;
	u32 type = 0, l3 = network(head, n, &type), l4, tcp;

	if (!l3 || type != wanted || n < l3 + least)
		return false;
	if (v6) {
		l4 = l3 + IPV6_HEADER;
		if (head[l3] >> 4 != 6 || head[l3 + IPV6_NEXT] != PROTOCOL_TCP)
			return false;
	} else {
		l4 = l3 + (head[l3] & 0xfu) * 4;
		if (head[l3] >> 4 != 4 || l4 < l3 + IPV4_HEADER ||
		    head[l3 + IPV4_PROTOCOL] != PROTOCOL_TCP ||
		    net_get16(head + l3 + IPV4_FRAGMENT) & 0x3fff)
			return false;
	}
	if (n < l4 + TCP_HEADER)
		return false;
	tcp = (head[l4 + TCP_OFFSET] >> 4) * 4u;
	*l = (struct net_large){ l3, l4, l4 + tcp, h->gso_size, v6 };
	/* The checksum is TCP's. */
	if (tcp < TCP_HEADER || l->headers > n || l->headers >= size || l->mss < NET_MSS_MIN ||
	    !(h->flags & NET_NEEDS_CSUM) || h->csum_start != l4 || h->csum_offset != TCP_CHECKSUM)
		return false;
	h->hdr_len = (u16)l->headers;
	return true;
}

enum net_verdict net_judge(struct net_header *h, const u8 *head, u32 n, u32 size, u32 mtu,
			   struct net_large *large)
{
	u32 type, tag;

	h->flags &= NET_NEEDS_CSUM;
	if (!network(head, n, &type))
		return NET_MALFORMED;
	tag = net_get16(head + NET_ETHERNET - 2) == TYPE_TAG ? NET_TAG : 0;
	if (!(h->flags & NET_NEEDS_CSUM))
		h->csum_start = h->csum_offset = 0;
	else if (h->csum_start < NET_ETHERNET || (u32)h->csum_start + h->csum_offset + 2 > size)
		return NET_MALFORMED;
	if (h->gso_type == NET_GSO_NONE) {
		h->gso_size = h->hdr_len = 0;
		return size <= NET_ETHERNET + tag + mtu ? NET_FINE : NET_TOO_LARGE;
	}
	if ((h->gso_type & ~NET_GSO_ECN) != NET_GSO_TCPV4 &&
	    (h->gso_type & ~NET_GSO_ECN) != NET_GSO_TCPV6)
		return NET_MALFORMED;
	if (size > NET_ETHERNET + tag + 65535)
		return NET_TOO_LARGE;
	if (!judge_large(h, head, n, size, large))
		return NET_MALFORMED;
	return large->headers - large->l3 + large->mss <= mtu ? NET_FINE : NET_TOO_LARGE;
}

/* ---- doing the work ------------------------------------------------------------------------ */

void net_fill_checksum(const struct net_header *h, u8 *frame, u32 size)
{
	u32 sum = fold(add(0, frame + h->csum_start, size - h->csum_start));

	/* What stands there is the sum of the pseudo header. In UDP 0 says that there is none. */
	net_put16(frame + h->csum_start + h->csum_offset, sum ? sum : 0xffff);
}

u32 net_segments(const struct net_large *l, u32 size)
{
	return (size - l->headers + l->mss - 1) / l->mss;
}

struct net_piece net_piece(const struct net_large *l, u32 size, u32 i)
{
	u32 at = l->headers + i * l->mss;

	return (struct net_piece){ at, MIN(l->mss, size - at) };
}

u32 net_segment(const struct net_large *l, const u8 *head, u32 size, u32 i, u8 *out)
{
	struct net_piece data = net_piece(l, size, i);
	u32 all = l->headers + data.size;
	u8 *ip = out + l->l3, *tcp = out + l->l4;
	bool last = data.at + data.size == size;
	u64 sum;

	memcpy(out, head, l->headers);
	if (l->v6) {
		net_put16(ip + IPV6_LENGTH, all - l->l3 - IPV6_HEADER);
		sum = add(0, ip + IPV6_ADDRESSES, 32);
	} else {
		net_put16(ip + IPV4_LENGTH, all - l->l3);
		net_put16(ip + IPV4_ID, net_get16(ip + IPV4_ID) + i);
		net_put16(ip + IPV4_CHECKSUM, 0);
		net_put16(ip + IPV4_CHECKSUM, fold(add(0, ip, l->l4 - l->l3)));
		sum = add(0, ip + IPV4_ADDRESSES, 8);
	}
	put32(tcp + TCP_SEQUENCE, get32(tcp + TCP_SEQUENCE) + i * l->mss);
	/* The end is the last one's, "window reduced" the first one's. */
	tcp[TCP_FLAGS] &= (u8) ~((last ? 0 : TCP_FIN | TCP_PSH) | (i ? TCP_CWR : 0));
	net_put16(tcp + TCP_CHECKSUM, 0);
	sum += PROTOCOL_TCP + all - l->l4;
	net_put16(tcp + TCP_CHECKSUM, fold(add(sum, tcp, all - l->l4)));
	return all;
}

u32 net_flow(const u8 *head, u32 n)
{
	u32 type = 0, at = network(head, n, &type), sum = 0, l4, protocol, addresses;
	u32 least = type == TYPE_IPV4 ? IPV4_HEADER : IPV6_HEADER;

	if (!at || (type != TYPE_IPV4 && type != TYPE_IPV6) || n < at + least)
		return 0;
	protocol = head[at + (type == TYPE_IPV4 ? IPV4_PROTOCOL : IPV6_NEXT)];
	l4 = at + (type == TYPE_IPV4 ? (head[at] & 0xfu) * 4 : IPV6_HEADER);
	addresses = type == TYPE_IPV4 ? 2 : 8;
	for (u32 i = 0; i < addresses; i++)
		sum ^= get32(head + at + (type == TYPE_IPV4 ? IPV4_ADDRESSES : IPV6_ADDRESSES) +
			     i * 4);
	if ((protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP) && n >= l4 + 4)
		sum ^= net_get16(head + l4) ^ net_get16(head + l4 + 2);
	return (sum ^ protocol) * 0x9e3779b1u;
}
