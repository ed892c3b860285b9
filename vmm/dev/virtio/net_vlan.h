/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: IEEE 802.1Q: of which VLAN a frame is that came in by a port that has some, and the
 * tag that it gets, or loses, on its way to another port. What is judged and changed is a copy that
 * no guest can write to: a frame's first bytes, and what its header says of it.
 */
#ifndef VMM_NET_VLAN_H
#define VMM_NET_VLAN_H

#include "vmm/dev/virtio/net_frame.h"
#include "vmm/dev/virtio/net_switch.h"

/* Judged by net_judge() before. */
struct net_tagged {
	struct net_header *header;
	struct net_large *large;
	u8 *head; /* with room for a tag more */
	u32 n;    /* bytes there */
	u32 size; /* of the frame */
};

/*
 * The VLAN of a frame that came in by the port: its tag's, or the port's own without one or with
 * one that is for a priority only, which gets the VLAN's number. 0: the port has not the VLAN, or
 * there is a tag behind the tag, which would be the first one once that is taken away; nobody gets
 * it.
 */
u16 net_vlan(const struct net_port *p, const struct net_tagged *f);
bool net_is_tagged(const u8 *head);
/* Does the port send a frame of this VLAN with a tag? */
static inline bool net_tags(const struct net_port *p, u16 vlan)
{
	return vlan != p->pvid;
}

/* The same frame with this VLAN's tag put in, or with its tag taken away. */
void net_tag(struct net_tagged *f, u16 vlan);
void net_untag(struct net_tagged *f);

#endif
