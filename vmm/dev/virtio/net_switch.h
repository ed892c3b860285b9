/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a segment of a virtual network, a switch: which of its ports get a frame. A port has
 * one address, and sends from no other, but for a bridge's, which learns those behind it (IEEE
 * 802.1D, 7.7 to 7.9), in each VLAN for itself. All ports have some VLANs, or none of them knows
 * any: then all frames are of VLAN 0. MAC addresses are numbers, the first byte in bits 7:0. All
 * calls but net_gets() under the segment's lock, which is its user's.
 */
#ifndef VMM_NET_SWITCH_H
#define VMM_NET_SWITCH_H

#include <margay/types.h>

#define NET_PORTS 64u
#define NET_LEARNED 256u /* addresses that are remembered behind a bridge, a power of two */
#define NET_LEARNED_WAYS 4u
#define NET_VLANS 4096u /* IEEE 802.1Q, 9.6: 0 and the last are none's */
/* seconds after its last frame that an address stays its bridge's (802.1D, 7.9.2) */
#define NET_AGE 300u

/* An address behind a bridge, its VLAN in bits 63:48; 0: none. */
struct net_learned {
	u64 mac;
	u32 seen; /* in seconds */
};

struct net_port {
	/* The user's, before net_join(); mac, mirror and learned stay as they are. */
	u64 mac;
	bool isolated;      /* talks to ports only that are not */
	bool mirror;        /* gets all frames of the segment and sends none */
	/* A bit for each that it has, pvid's with them; NULL: it knows no VLANs. */
	const u8 *vlans;
	u16 pvid; /* of frames without a tag; 0: it has none */
	/*
	 * a bridge's own, NET_LEARNED of them, zero: no other takes their place; NULL: it is none
	 */
	struct net_learned *learned;
	/* The switch's. */
	unsigned index; /* on its segment */
	u8 next; /* index + 1 of the next one whose address has the same hash; 0: none */
};

struct net_segment {
	struct net_port *port[NET_PORTS]; /* NULL: free */
	/* bits by index: all, those that are bridges, those that are mirrors */
	u64 taken;
	u64 learning;
	u64 mirrors;
	u8 first[NET_PORTS]; /* by an address' hash: index + 1, as in the ports; first come first */
	unsigned bridges; /* how many of these are */
	u32 now; /* the second of the last frame */
};

/* 0; -ENOSPC: all ports are taken; -EINVAL: it has VLANs, and the others have none, or not. */
int net_join(struct net_segment *s, struct net_port *p);
/*
 * From now on nobody finds the port, and what was learned behind it is forgotten; its index stays
 * its own. False: it has not joined.
 */
bool net_hide(struct net_segment *s, struct net_port *p);
/* Hides the port, if it has joined, and gives its index back. */
void net_leave(struct net_segment *s, struct net_port *p);
/* Has the port, of those that know VLANs, this one? */
bool net_has_vlan(const struct net_port *p, unsigned vlan);
static inline bool net_carries(const struct net_port *p, unsigned vlan)
{
	return !vlan || net_has_vlan(p, vlan);
}

/*
 * A frame of this VLAN from this address came in by the port at this second: may it? Own addresses
 * of ports are nobody else's, whatever their VLANs, nor are those behind another bridge, while it
 * lives. What a bridge has no room to remember may come in all the same.
 */
bool net_admit(struct net_segment *s, struct net_port *p, u64 mac, u16 vlan, u32 now);
/*
 * Who has the address in this VLAN, or has it behind it; NULL: it is nobody's, of several, or
 * behind a bridge that does not remember it.
 */
struct net_port *net_owner(const struct net_segment *s, u64 to, u16 vlan);
/*
 * Who may get a frame of this VLAN which came in by `from`, to this address: bits by index, each to
 * be asked by net_gets(). An address that nobody is known to have is behind a bridge, or nowhere:
 * no other port gets it.
 */
u64 net_receivers(const struct net_segment *s, const struct net_port *from, u64 to, u16 vlan);
/* By what does not change while the ports are there. */
bool net_gets(const struct net_port *p, const struct net_port *from, u16 vlan);

#endif
