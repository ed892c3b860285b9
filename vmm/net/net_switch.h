/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a segment of a virtual network, a learning switch without VLANs (IEEE 802.1D, 7.7 and 7.8): which of its ports
 * get a frame. MAC addresses are numbers, the first byte in bits 7:0. All calls under the segment's lock, which is its user's.
 */
#ifndef VMM_NET_SWITCH_H
#define VMM_NET_SWITCH_H

#include <margay/types.h>

#define NET_PORTS 64u
#define NET_LEARNED 256u /* addresses that are remembered, a power of two */
#define NET_LEARNED_WAYS 4u

struct net_port {
	/* The user's, before net_join(). */
	u64 mac;
	bool isolated;      /* talks to ports only that are not */
	bool mirror;        /* gets all frames of the segment and sends none */
	unsigned index;     /* on its segment */
};

/* Addresses behind ports that are not the ports' own, as behind a bridge. */
struct net_segment {
	struct net_port *port[NET_PORTS]; /* NULL: free */
	struct net_learned { u64 mac; struct net_port *port; } learned[NET_LEARNED];
	unsigned oldest; /* way of any set that is taken next */
};

/* 0; -ENOSPC: all ports are taken. */
int net_join(struct net_segment *s, struct net_port *p);
/* Forgets the port, if it has joined, and what was learned behind it. */
void net_leave(struct net_segment *s, struct net_port *p);
/* A frame from this address came in by the port. Own addresses of ports are nobody else's. */
void net_learn(struct net_segment *s, struct net_port *p, u64 mac);
/*
 * The next port that gets a frame which came in by `from`, to this address; NULL: no further. *at is 0 at first and says between
 * the calls how far it is, though ports come and go.
 */
struct net_port *net_next(const struct net_segment *s, const struct net_port *from, u64 to, unsigned *at);

#endif
