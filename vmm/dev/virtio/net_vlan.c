/* SPDX-License-Identifier: GPL-2.0-only */
/* See net_vlan.h. */
#include "vmm/dev/virtio/net_vlan.h"

#include <margay/string.h>

#define TPID 0x8100u
#define SERVICE_TPID 0x88a8u /* 9.5: a provider's, around others */
#define TPID_AT (NET_ETHERNET - 2)
#define TCI_AT NET_ETHERNET
#define VID 0x0fffu /* of the TCI; above it a priority */

bool net_is_tagged(const u8 *head)
{
	return net_get16(head + TPID_AT) == TPID;
}

u16 net_vlan(const struct net_port *p, const struct net_tagged *f)
{
	bool tagged = net_is_tagged(f->head);
	u32 inner = net_get16(f->head + TPID_AT + (tagged ? NET_TAG : 0)), vlan = p->pvid;

	if (inner == TPID || inner == SERVICE_TPID)
		return 0;
	/* What is to be summed is behind the tag. */
	if (tagged && f->header->flags && f->header->csum_start < NET_ETHERNET + NET_TAG)
		return 0;
	if (tagged && net_get16(f->head + TCI_AT) & VID)
		vlan = net_get16(f->head + TCI_AT) & VID;
	else if (tagged)
		net_put16(f->head + TCI_AT, net_get16(f->head + TCI_AT) | vlan);
	return vlan && net_has_vlan(p, vlan) ? (u16)vlan : 0;
}

/* All that is behind the addresses has moved. */
static void move(struct net_tagged *f, u32 by)
{
	f->n += by;
	f->size += by;
	if (f->header->flags)
		f->header->csum_start += (u16)by;
	if (!f->header->gso_type)
		return;
	f->header->hdr_len += (u16)by;
	f->large->l3 += by;
	f->large->l4 += by;
	f->large->headers += by;
}

void net_tag(struct net_tagged *f, u16 vlan)
{
	memmove(f->head + TPID_AT + NET_TAG, f->head + TPID_AT, f->n - TPID_AT);
	net_put16(f->head + TPID_AT, TPID);
	net_put16(f->head + TCI_AT, vlan);
	move(f, NET_TAG);
}

void net_untag(struct net_tagged *f)
{
	memmove(f->head + TPID_AT, f->head + TPID_AT + NET_TAG, f->n - TPID_AT - NET_TAG);
	move(f, -NET_TAG);
}
