/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames on their way (virtio 1.2, 5.1.6): who sends copies, on its own CPU, from its guest's
 * memory. The first bytes and the header are copied once, judged, and handed on as they were
 * judged.
 */
#include <margay/string.h>

#include "vmm/dev/virtio/net_vlan.h"
#include "vmm/dev/virtio/virtio_net_send.h"

/* Has the driver accepted what it asks for? */
static bool may_ask(const struct port *p, const struct net_header *h)
{
	u8 type = h->gso_type & (u8)~NET_GSO_ECN;

	return (!(h->flags & NET_NEEDS_CSUM) || port_has(p, NET_CSUM)) &&
	       (type != NET_GSO_TCPV4 || port_has(p, NET_HOST_TSO4)) &&
	       (type != NET_GSO_TCPV6 || port_has(p, NET_HOST_TSO6)) &&
	       (!(h->gso_type & NET_GSO_ECN) || port_has(p, NET_HOST_ECN));
}

/* Refuses what was sent: false. */
static bool drop(struct port *p, enum net_drop why)
{
	p->counts.drop[why]++;
	return false;
}

/* The request in the chain. False, counted: nobody gets it. */
static bool take(struct port *p, struct frame *f)
{
	struct virtio *v = &p->virtio;
	struct net_list *list = &p->segment->frame;
	struct place at = virtio_place(v, false, 0);
	u64 all = virtio_bytes(v, false);
	enum net_verdict verdict;

	if (v->chain.too_long || all < sizeof(f->header) + NET_ETHERNET)
		return drop(p, NET_DROP_MALFORMED);
	if (all > sizeof(f->header) + NET_LARGE_MAX)
		return drop(p, NET_DROP_TOO_LARGE);
	f->from = p;
	f->size = (u32)(all - sizeof(f->header));
	f->head_size = MIN(f->size, NET_HEADERS_MAX);
	f->vlan = 0;
	list->count = 2;
	if (!virtio_get(v, &at, &f->header, sizeof(f->header)) ||
	    !virtio_get(v, &at, f->head, f->head_size) || !net_append(list, at) ||
	    !may_ask(p, &f->header))
		return drop(p, NET_DROP_MALFORMED);
	verdict = net_judge(&f->header, f->head, f->head_size, f->size, p->config.mtu, &f->large);
	if (verdict != NET_FINE)
		return drop(p, verdict == NET_TOO_LARGE ? NET_DROP_TOO_LARGE : NET_DROP_MALFORMED);
	if (!p->net.vlans)
		return true;
	f->vlan = net_vlan(&p->net, &(struct net_tagged){ &f->header, &f->large, f->head,
							  f->head_size, f->size });
	return f->vlan || drop(p, NET_DROP_VLAN);
}

static u64 mac_at(const u8 *p)
{
	u64 mac = 0;

	memcpy(&mac, p, 6);
	return mac;
}

/*
 * Asked anew each time that a frame goes on: the guest may have put another in its place meanwhile.
 */
static bool may_come(struct port *p, const struct frame *f)
{
	return net_admit(&p->segment->net, &p->net, mac_at(f->head + 6), f->vlan,
			 (u32)(host_tsc() / (host_tsc_khz() * 1000)));
}

static void count(struct port *p, unsigned pair, const struct frame *f)
{
	p->pair_of[net_flow(f->head, f->head_size) % NET_FLOWS] = (u8)pair;
	p->counts.sent.frames++;
	p->counts.sent.bytes += f->size;
	p->counts.sent.large += f->header.gso_type != NET_GSO_NONE;
}

/* The frame with the tag that it has not, or without the one that it has. */
static void change_tag(const struct frame *f, struct frame *out)
{
	struct net_tagged t = { &out->header, &out->large, out->head, f->head_size, f->size };

	*out = *f;
	if (net_is_tagged(f->head))
		net_untag(&t);
	else
		net_tag(&t, f->vlan);
	out->head_size = t.n;
	out->size = t.size;
}

/*
 * The frame in hand, to one port after the other. False: so much has been done that the rest must
 * wait.
 */
static bool forward(struct port *p, unsigned pair, const struct frame *f, struct hold *h)
{
	struct net_segment *net = &p->segment->net;
	struct net_hand *hand = &p->hand[pair];
	const u64 mac = mac_at(f->head);
	const struct net_port *owner;
	struct net_port *to;
	struct frame changed;

	h->done += 2 * net->bridges * COST_BRIDGE;
	if (!may_come(p, f)) {
		drop(p, NET_DROP_ADDRESS);
		return true;
	}
	if (!hand->counted)
		count(p, pair, f);
	hand->counted = true;
	owner = net_owner(net, mac, f->vlan);
	while ((to = net_next(net, &p->net, mac, f->vlan, owner, &hand->at))) {
		const struct frame *as = f;

		if (f->vlan && net_tags(to, f->vlan) != net_is_tagged(f->head)) {
			h->done += COST_TAG;
			change_tag(f, &changed);
			as = &changed;
		}
		if (!net_deliver(p->segment, container_of(to, struct port, net), as, &hand->piece,
				 h)) {
			--hand->at;
			return false;
		}
		hand->piece = 0;
	}
	return true;
}

static void interrupt_receivers(struct lan *s)
{
	for (; s->touched; s->touched &= s->touched - 1) {
		struct net_port *p = s->net.port[__builtin_ctzll(s->touched)];

		for (unsigned pair = 0; p && pair < NET_PAIRS; pair++) {
			struct virtio *v = &container_of(p, struct port, net)->virtio;

			if (virtio_runs(v, 2 * pair))
				virtio_interrupt(v, 2 * pair);
		}
	}
}

bool net_transmit(struct port *p, unsigned queue)
{
	struct virtio *v = &p->virtio;
	struct hold h = { 0 };
	unsigned pair = queue / 2;
	bool more = false;

	while (!more && virtio_next(v, queue)) {
		struct frame f;

		more = h.done >= WORK_MAX;
		h.done += COST_FRAME + v->chain.buffers * COST_BUFFER;
		if (!more && take(p, &f))
			more = !forward(p, pair, &f, &h);
		if (more) {
			virtq_put_back(&v->queue[queue], 1);
			continue;
		}
		p->hand[pair] = (struct net_hand){ 0 };
		virtq_done(&v->queue[queue], v->chain.head, 0);
	}
	virtio_interrupt(v, queue);
	interrupt_receivers(p->segment);
	return more;
}
