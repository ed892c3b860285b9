/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames on their way (virtio 1.2, 5.1.6): who sends copies, on its own CPU, from its guest's
 * memory into the buffers that the receivers' drivers have offered. The first bytes and the header
 * are copied once, judged, and handed on as they were judged. What a receiver's driver cannot take
 * as it is, is made frames of the usual size, with checksums.
 */
#include <margay/string.h>

#include "vmm/dev/virtio/net_vlan.h"
#include "vmm/dev/virtio/virtio_net.h"

/*
 * What is done in one go, with the segment's lock held, and before the vCPU looks at what may keep
 * it from its guest: in instructions, about, as many as a plain frame of 64 KiB takes
 * (test_net_hold.c counts them). A piece of work begins if what it is expected to take is left, or
 * as the first; what a receiver's chains cost beyond that is known when they have been met.
 */
#define WORK_MAX 24000u
#define COST_COPY(bytes) ((u32)(bytes) / 8)
#define COST_SUM(bytes) (2 * (u32)(bytes))
#define COST_FRAME 1000u /* of the sender's, whatever its size, and again for each receiver; */
#define COST_CHAIN 250u  /* of each of a receiver's chains; */
#define COST_BUFFER 60u  /* of each buffer in one, of the sender's, too; */
#define COST_BRIDGE 50u  /* of each table that an address is looked up in; */
#define COST_TAG 100u    /* of a tag that is put in, or taken away; */
#define COST_VCPU 50u    /* and of each vCPU that an interrupt may be for */
/*
 * What a frame may take of a receiver's, whose driver shall not make work for others: of 1,536
 * bytes it takes 43.
 */
#define CHAINS_MAX 64u

struct hold {
	u32 done;
	bool any; /* has begun */
};

/* What is judged of a frame; the rest is in the segment's list only. */
struct frame {
	struct net_header header;
	struct net_large large;
	/* bytes in all; of them copied here */
	u32 size;
	u32 head_size;
	u16 vlan; /* 0: it came by a port that knows none */

	struct port *from;
	u8 head[NET_HEADERS_MAX + NET_TAG];
};

/* What a receiver gets: so many bytes behind a header, as a list whose first piece is that. */
struct cargo {
	struct net_header header;
	u32 size;
	unsigned count;
	struct piece *list;
	struct vm *vm; /* whose memory it is; NULL: the hypervisor's */
};

static bool has(const struct port *p, u64 features)
{
	return (p->virtio.accepted & features) == features;
}

static bool begin(struct hold *h, u32 cost)
{
	if (h->any && h->done + cost > WORK_MAX)
		return false;
	h->any = true;
	h->done += cost;
	return true;
}

/* ---- lists ------------------------------------------------------------------------------- */

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

/* From byte `at` of the frame in hand on, its header not counted. */
static struct place frame_place(const struct lan *s, u64 at)
{
	const struct net_list *l = &s->frame;

	return (struct place){ l->piece + 1, l->piece + l->count, at };
}

/* The next bytes of the frame in hand, to where no guest can change them. */
static bool bring(const struct frame *f, struct place *from, u8 *out, u32 size)
{
	if (virtio_get(&f->from->virtio, from, out, size))
		return true;
	f->from->counts.drop[NET_DROP_MALFORMED]++;
	return false;
}

/* ---- into a receiver's buffers ------------------------------------------------------------- */

/*
 * Chains with room for so many bytes, staged as used, in the segment's list: one, or with mergeable
 * buffers several. *n: how many were taken. False: they are not enough.
 */
static bool find_room(struct port *to, unsigned queue, u64 size, unsigned *n, struct hold *h)
{
	struct virtio *v = &to->virtio;
	struct net_list *room = &to->segment->room;
	unsigned most = has(to, NET_MRG_RXBUF) ? CHAINS_MAX : 1, buffers = 0;

	room->count = 0;
	for (*n = 0; size; ++*n) {
		u64 part;

		if (*n == most || !virtio_next(v, queue))
			return false;
		buffers += v->chain.buffers;
		h->done += COST_CHAIN + v->chain.buffers * COST_BUFFER;
		part = MIN(virtio_bytes(v, true), size);
		virtq_stage(&v->queue[queue], *n, v->chain.head, (u32)part);
		/* 5.1.6.4: the header is in the first. */
		if (v->chain.too_long || buffers > NET_BUFFERS ||
		    (!*n && part < sizeof(struct net_header)) ||
		    !append(room, virtio_place(v, true, 0))) {
			++*n;
			return false;
		}
		size -= part;
	}
	return true;
}

/* The driver sees all chains at once. False: it does not fit, nothing is taken. */
static bool put(struct port *to, unsigned queue, struct cargo *c, struct hold *h)
{
	const struct net_list *room = &to->segment->room;
	struct place in = { room->piece, NULL, 0 }, from = { c->list, c->list + c->count, 0 };
	u64 size = sizeof(c->header) + c->size;
	unsigned n;

	if (find_room(to, queue, size, &n, h)) {
		c->header.num_buffers = (u16)n;
		c->list[0] = (struct piece){ (u8 *)&c->header, sizeof(c->header) };
		in.end = room->piece + room->count;
		if (virtio_copy(to->virtio.pci.vm, &in, c->vm, &from, size)) {
			virtq_publish(&to->virtio.queue[queue], n);
			return true;
		}
	}
	virtq_put_back(&to->virtio.queue[queue], n);
	return false;
}

static bool give(struct port *to, unsigned queue, struct cargo *c, struct hold *h)
{
	struct net_counts *counts = &to->counts;

	if (!put(to, queue, c, h)) {
		counts->drop[NET_DROP_NO_BUFFER]++;
		return false;
	}
	counts->got.frames++;
	counts->got.bytes += c->size;
	counts->got.large += c->header.gso_type != NET_GSO_NONE;
	return true;
}

/* One that was made here, without anything left to be done. */
static bool give_made(struct port *to, unsigned queue, u32 size, struct hold *h)
{
	struct piece list[] = { { 0 }, { to->segment->made, size } };
	struct cargo c = { .size = size, .count = ARRAY_SIZE(list), .list = list };

	return give(to, queue, &c, h);
}

/* ---- what the receiver's driver can take ------------------------------------------------ */

/*
 * A large frame, cut: from the piece on that is next. Each is copied to where no guest can change
 * it, behind judged headers. False: the rest must wait. After one that does not fit the others are
 * lost, too.
 */
static bool give_pieces(struct lan *s, struct port *to, unsigned queue, const struct frame *f,
			u32 *next, struct hold *h)
{
	u32 n = net_segments(&f->large, f->size), i = *next;
	struct place from = frame_place(s, net_piece(&f->large, f->size, i).at);

	for (; i < n; i++) {
		u32 size = net_piece(&f->large, f->size, i).size;

		*next = i;
		if (!begin(h, COST_FRAME + 2 * COST_COPY(size) + COST_SUM(size)))
			return false;
		if (!bring(f, &from, s->made + f->large.headers, size))
			break;
		size = net_segment(&f->large, f->head, f->size, i, s->made);
		if (!give_made(to, queue, size, h)) {
			to->counts.drop[NET_DROP_NO_BUFFER] += n - i - 1;
			break;
		}
	}
	return true;
}

/* The checksum filled in, in a copy that no guest can change. */
static bool give_summed(struct lan *s, struct port *to, unsigned queue, const struct frame *f,
			struct hold *h)
{
	struct place from = frame_place(s, 0);

	if (!begin(h, COST_FRAME + 2 * COST_COPY(f->size) + COST_SUM(f->size)))
		return false;
	if (bring(f, &from, s->made, f->size)) {
		net_fill_checksum(&f->header, s->made, f->size);
		give_made(to, queue, f->size, h);
	}
	return true;
}

static bool takes_large(const struct port *p, u8 type)
{
	u64 wanted = NET_GUEST_CSUM |
		     ((type & ~NET_GSO_ECN) == NET_GSO_TCPV6 ? NET_GUEST_TSO6 : NET_GUEST_TSO4);

	return has(p, wanted | (type & NET_GSO_ECN ? NET_GUEST_ECN : 0));
}

/* False: it, or the rest of it, must wait. */
static bool deliver(struct lan *s, struct port *to, const struct frame *f, u32 *piece,
		    struct hold *h)
{
	const struct net_header *header = &f->header;
	struct cargo c = { *header, f->size, s->frame.count, s->frame.piece,
			   f->from->virtio.pci.vm };
	unsigned pair = to->pairs > 1 ? to->pair_of[net_flow(f->head, f->head_size) % NET_FLOWS]
				      : 0,
		 queue = 2 * pair;

	/* Nobody is there: that is no frame lost. */
	if (to->stopped || !virtio_runs(&to->virtio, queue))
		return true;
	if (!virtio_others_may(&to->virtio, queue)) {
		to->counts.drop[NET_DROP_PAUSED]++;
		return true;
	}
	if (!(s->touched & BIT(to->net.index)))
		h->done += to->virtio.pci.vm->nr_vcpus * COST_VCPU;
	s->touched |= BIT(to->net.index);
	/* The one of this receiver: it may have another tag. */
	s->frame.piece[1] = (struct piece){ (u8 *)(uintptr_t)f->head, f->head_size };
	if (header->gso_type && !takes_large(to, header->gso_type))
		return give_pieces(s, to, queue, f, piece, h);
	if (!header->gso_type && header->flags && !has(to, NET_GUEST_CSUM))
		return give_summed(s, to, queue, f, h);
	if (!begin(h, COST_FRAME + COST_COPY(f->size)))
		return false;
	give(to, queue, &c, h);
	return true;
}

/* ---- out of the sender's ---------------------------------------------------------------- */

/* Has the driver accepted what it asks for? */
static bool may_ask(const struct port *p, const struct net_header *h)
{
	u8 type = h->gso_type & (u8)~NET_GSO_ECN;

	return (!(h->flags & NET_NEEDS_CSUM) || has(p, NET_CSUM)) &&
	       (type != NET_GSO_TCPV4 || has(p, NET_HOST_TSO4)) &&
	       (type != NET_GSO_TCPV6 || has(p, NET_HOST_TSO6)) &&
	       (!(h->gso_type & NET_GSO_ECN) || has(p, NET_HOST_ECN));
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
		if (!deliver(p->segment, container_of(to, struct port, net), as, &hand->piece, h)) {
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
