/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames on their way (virtio 1.2, 5.1.6): who sends copies, on its own CPU, from its guest's
 * memory. The first bytes and the header are copied once, judged, and handed on as they were
 * judged. Who holds which lock meanwhile: virtio_net.h.
 */
#include <margay/string.h>

#include "vmm/dev/virtio/net_vlan.h"
#include "vmm/dev/virtio/virtio_net_send.h"

/* Appends what is behind the place. False: it is more than there is room for. */
static bool append(struct net_list *l, struct place from)
{
	for (; from.piece < from.end; from.piece++) {
		const struct piece *p = from.piece;

		if (from.at >= p->size) {
			from.at -= p->size;
			continue;
		}
		if (l->count == NET_PIECES)
			return false;
		l->piece[l->count++] =
			(struct piece){ p->at ? p->at + from.at : NULL, p->size - from.at };
		from.at = 0;
	}
	return true;
}

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
	struct net_list *list = &p->frame;
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
	    !virtio_get(v, &at, f->head, f->head_size) || !append(list, at) ||
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
 * Who may get the frame in hand: bits by index, of ports that stay until the batch is done. False:
 * it may not come from there. Asked anew each time that a frame goes on: the guest may have put
 * another in its place meanwhile.
 */
static bool look_up(struct port *p, const struct frame *f, u64 *to, struct hold *h)
{
	u32 now = (u32)(host_tsc() / (host_tsc_khz() * 1000));
	struct lan *s = p->segment;
	bool may;

	spin_lock(&s->lock);
	h->done += 2 * s->net.bridges * COST_BRIDGE;
	may = net_admit(&s->net, &p->net, mac_at(f->head + 6), f->vlan, now);
	*to = may ? net_receivers(&s->net, &p->net, mac_at(f->head), f->vlan) : 0;
	__atomic_store_n(&p->held, p->held | *to, __ATOMIC_RELAXED);
	spin_unlock(&s->lock);
	return may;
}

static void count(struct port *p, unsigned pair, const struct frame *f)
{
	__atomic_store_n(&p->pair_of[net_flow(f->head, f->head_size) % NET_FLOWS], (u8)pair,
			 __ATOMIC_RELAXED);
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

/* Takes a receiver's lock. How long others that had it kept us waiting, in cycles. */
static u32 lock_receiver(struct spinlock *l)
{
	u64 from;

	if (spin_trylock(l))
		return 0;
	from = host_tsc();
	spin_lock(l);
	return (u32)MIN(host_tsc() - from, (u64)WORK_MAX);
}

/* To one port. False: it, or the rest of it, must wait. */
static bool forward_to(struct port *to, const struct frame *f, u32 *piece, struct hold *h)
{
	struct frame changed;
	u32 waited;
	bool done;

	if (!net_gets(&to->net, &f->from->net, f->vlan))
		return true;
	if (f->vlan && net_tags(&to->net, f->vlan) != net_is_tagged(f->head)) {
		h->done += COST_TAG;
		change_tag(f, &changed);
		f = &changed;
	}
	waited = lock_receiver(&to->virtio.pci.others_lock);
	done = net_deliver(to, f, piece, h);
	spin_unlock(&to->virtio.pci.others_lock);
	/* Behind the frame, which has waited already: the next ones have so much less time. */
	h->done += waited;
	return done;
}

static struct port *port_at(const struct port *p, unsigned index)
{
	return container_of(p->segment->net.port[index], struct port, net);
}

/*
 * The frame in hand, to one port after the other. False: so much has been done that the rest must
 * wait.
 */
static bool forward(struct port *p, unsigned pair, const struct frame *f, struct hold *h)
{
	struct net_hand *hand = &p->hand[pair];
	u64 to;

	if (!look_up(p, f, &to, h)) {
		drop(p, NET_DROP_ADDRESS);
		return true;
	}
	if (!hand->counted)
		count(p, pair, f);
	hand->counted = true;
	for (to &= ~0ull << hand->at; to; to &= to - 1) {
		unsigned at = (unsigned)__builtin_ctzll(to);

		/* The one that has got some pieces may have gone meanwhile. */
		hand->piece = at == hand->at ? hand->piece : 0;
		hand->at = at;
		if (!forward_to(port_at(p, at), f, &hand->piece, h))
			return false;
	}
	return true;
}

/*
 * The end of a batch: one interrupt for each queue that has got something, and nobody is held.
 * Where a driver knows no pairs the control queue stands in one's place: that is its own CPU's.
 */
static void interrupt_receivers(struct port *p)
{
	for (; p->touched; p->touched &= p->touched - 1) {
		struct port *to = port_at(p, (unsigned)__builtin_ctzll(p->touched));
		struct virtio *v = &to->virtio;

		spin_lock(&v->pci.others_lock);
		for (unsigned pair = 0; !to->stopped && pair < NET_PAIRS; pair++)
			if (v->quiet(v, 2 * pair) && virtio_runs(v, 2 * pair))
				virtio_interrupt_by_other(v, 2 * pair);
		spin_unlock(&v->pci.others_lock);
	}
	__atomic_store_n(&p->held, 0, __ATOMIC_RELEASE);
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
	interrupt_receivers(p);
	return more;
}
