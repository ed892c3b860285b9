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
#define WORK_MAX 30000u
#define COST_COPY(bytes) ((u32)(bytes) / 8)
#define COST_SUM(bytes) (2 * (u32)(bytes))
#define COST_FRAME 1000u /* of the sender's, whatever its size, and again for each receiver; */
#define COST_CHAIN 350u  /* of each of a receiver's chains; */
#define COST_BUFFER 100u /* of each buffer in one, of the sender's, too; */
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

struct frame {
	struct net_header header;
	struct net_large large;
	/* bytes in all; of them copied here; where in the sender's chain the next ones are */
	u32 size;
	u32 head_size;
	u32 rest;
	u16 vlan; /* 0: it came by a port that knows none */

	struct port *from;
	const u8 *flat; /* all of it; NULL: the head, and the rest in the sender's chain */
	u8 head[NET_HEADERS_MAX + NET_TAG];
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

/* ---- into a receiver's buffers ------------------------------------------------------------- */

/*
 * Bytes of the frame from `from` on, to byte `at` of the receiver's chain. *rest: how far it is
 * behind the head.
 */
static bool copy(struct virtio *v, u64 at, const struct frame *f, u32 from, u64 size,
		 struct place *rest)
{
	u64 n = f->flat || from >= f->head_size ? 0 : MIN(size, (u64)f->head_size - from);
	struct place to = virtio_place(v, true, at);

	if (f->flat)
		return virtio_put(v, &to, f->flat + from, size);
	return (!n || virtio_put(v, &to, f->head + from, n)) &&
	       virtio_copy(v->pci.vm, &to, f->from->virtio.pci.vm, rest, size - n);
}

/* The two bytes of num_buffers, in the first of the chains; both without an address: none. */
static void find_number(const struct virtio *v, struct piece out[2])
{
	struct place p = virtio_place(v, true, offsetof(struct net_header, num_buffers));

	for (unsigned found = 0; p.piece < p.end && found < 2; p.piece++) {
		for (; found < 2 && p.at < p.piece->size; p.at++)
			out[found++] = (struct piece){ p.piece->at ? p.piece->at + p.at : NULL, 1 };
		p.at -= MIN(p.at, p.piece->size);
	}
}

/*
 * By one chain, or with mergeable buffers by several, which the driver sees at once. False: it does
 * not fit, nothing is taken.
 */
static bool put(struct port *to, unsigned queue, const struct net_header *header,
		const struct frame *f, u32 size, struct hold *h)
{
	struct virtio *v = &to->virtio;
	struct virtq *q = &v->queue[queue];
	struct place rest =
		f->flat ? (struct place){ 0 } : virtio_place(&f->from->virtio, false, f->rest);
	struct piece number[2] = { { 0 } };
	u32 done = 0;
	unsigned n = 0, buffers = 0;

	do {
		u64 at = n ? 0 : sizeof(*header), room, part;

		if (n == (has(to, NET_MRG_RXBUF) ? CHAINS_MAX : 1) || !virtio_next(v, queue))
			goto full;
		n++;
		buffers += v->chain.buffers;
		h->done += COST_CHAIN + v->chain.buffers * COST_BUFFER;
		if (v->chain.too_long || buffers > NET_BUFFERS)
			goto full;
		room = virtio_bytes(v, true);
		part = MIN(room - MIN(room, at), (u64)size - done);
		if (n == 1) {
			find_number(v, number);
			if (!virtio_write(v, 0, header, sizeof(*header)))
				goto full;
		}
		if (!copy(v, at, f, done, part, &rest))
			goto full;
		virtq_stage(q, n - 1, v->chain.head, (u32)(at + part));
		done += (u32)part;
	} while (done < size);
	if (n > 1 &&
	    !virtio_put(v, &(struct place){ number, number + 2, 0 }, &(u16){ (u16)n }, sizeof(u16)))
		goto full;
	virtq_publish(q, n);
	return true;
full:
	virtq_put_back(q, n);
	return false;
}

static bool give(struct port *to, unsigned queue, const struct net_header *header,
		 const struct frame *f, u32 size, struct hold *h)
{
	struct net_counts *counts = &to->counts;

	if (!put(to, queue, header, f, size, h)) {
		counts->drop[NET_DROP_NO_BUFFER]++;
		return false;
	}
	counts->got.frames++;
	counts->got.bytes += size;
	counts->got.large += header->gso_type != NET_GSO_NONE;
	return true;
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
	static const struct net_header plain = { .num_buffers = 1 };
	const struct frame piece = { .flat = s->frame };
	u32 n = net_segments(&f->large, f->size), i = *next;

	for (; i < n; i++) {
		struct net_piece data = net_piece(&f->large, f->size, i);

		*next = i;
		if (!begin(h, COST_FRAME + 2 * COST_COPY(data.size) + COST_SUM(data.size)))
			return false;
		if (!virtio_read(&f->from->virtio, f->rest + data.at - f->head_size,
				 s->frame + f->large.headers, data.size)) {
			f->from->counts.drop[NET_DROP_MALFORMED]++;
			break;
		}
		if (!give(to, queue, &plain, &piece,
			  net_segment(&f->large, f->head, f->size, i, s->frame), h)) {
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
	static const struct net_header plain = { .num_buffers = 1 };
	const struct frame whole = { .flat = s->frame };

	if (!begin(h, COST_FRAME + 2 * COST_COPY(f->size) + COST_SUM(f->size)))
		return false;
	memcpy(s->frame, f->head, f->head_size);
	if (virtio_read(&f->from->virtio, f->rest, s->frame + f->head_size,
			f->size - f->head_size)) {
		net_fill_checksum(&f->header, s->frame, f->size);
		give(to, queue, &plain, &whole, f->size, h);
	} else {
		f->from->counts.drop[NET_DROP_MALFORMED]++;
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
	if (header->gso_type ? !takes_large(to, header->gso_type)
			     : header->flags && !has(to, NET_GUEST_CSUM))
		return header->gso_type ? give_pieces(s, to, queue, f, piece, h)
					: give_summed(s, to, queue, f, h);
	if (!begin(h, COST_FRAME + COST_COPY(f->size)))
		return false;
	give(to, queue, header, f, f->size, h);
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
	u64 all = virtio_bytes(v, false);
	enum net_verdict verdict;

	if (v->chain.too_long || all < sizeof(f->header) + NET_ETHERNET)
		return drop(p, NET_DROP_MALFORMED);
	if (all > sizeof(f->header) + NET_LARGE_MAX)
		return drop(p, NET_DROP_TOO_LARGE);
	f->from = p;
	f->size = (u32)(all - sizeof(f->header));
	f->head_size = MIN(f->size, NET_HEADERS_MAX);
	f->rest = (u32)sizeof(f->header) + f->head_size;
	f->vlan = 0;
	f->flat = NULL;
	if (!virtio_read(v, 0, &f->header, sizeof(f->header)) ||
	    !virtio_read(v, sizeof(f->header), f->head, f->head_size) || !may_ask(p, &f->header))
		return drop(p, NET_DROP_MALFORMED);
	f->header.num_buffers = 1;
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
	for (unsigned i = 0; s->touched; i++, s->touched >>= 1) {
		if (!(s->touched & 1) || !s->net.port[i])
			continue;
		for (unsigned pair = 0; pair < NET_PAIRS; pair++) {
			struct virtio *v = &container_of(s->net.port[i], struct port, net)->virtio;

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
