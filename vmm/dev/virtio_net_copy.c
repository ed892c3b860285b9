/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames on their way (virtio 1.2, 5.1.6): who sends copies, on its own CPU, from its guest's memory into the buffers that the
 * receivers' drivers have offered. The first bytes and the header are copied once, judged, and handed on as they were judged.
 * What a receiver's driver cannot take as it is, is made frames of the usual size, with checksums.
 */
#include <margay/string.h>

#include "vmm/dev/virtio_net.h"
#include "vmm/memory/guest_mem.h"

/* What is done between two looks at what may keep the vCPU from its guest. */
#define WORK_MAX KIB(64)
#define COST_FRAME 512u  /* of one, whatever its size; */
#define COST_BUFFER 32u  /* and of each of its buffers, and of each piece of it */
/* What a frame may take of a receiver's, whose driver shall not make work for others: of 1,536 bytes it takes 43. */
#define CHAINS_MAX 64u
#define BUFFERS_MAX 256u

struct frame {
	struct net_header header;
	struct net_large large;
	u32 size, head_size; /* bytes in all; of them copied here */
	struct port *from;
	const u8 *flat;      /* all of it; NULL: the head, and the rest in the sender's chain */
	bool whole;          /* the segment's buffer has it */
	u8 head[NET_HEADERS_MAX];
};

static bool has(const struct port *p, u64 features)
{
	return (p->virtio.accepted & features) == features;
}

/* ---- into a receiver's buffers ------------------------------------------------------------- */

/* Bytes of the frame from `from` on, to byte `at` of the receiver's chain. */
static bool copy(struct virtio *v, u64 at, const struct frame *f, u32 from, u64 size)
{
	u64 n = f->flat || from >= f->head_size ? 0 : MIN(size, (u64)f->head_size - from);

	if (f->flat)
		return virtio_write(v, at, f->flat + from, size);
	return (!n || virtio_write(v, at, f->head + from, n)) &&
	       virtio_copy(v, at + n, &f->from->virtio, sizeof(struct net_header) + from + n, size - n);
}

/* Guest-physical addresses of the two bytes of num_buffers, in the first of the chains. */
static void find_number(const struct virtq_chain *c, u64 out[2])
{
	u64 at = offsetof(struct net_header, num_buffers);

	for (unsigned i = c->readable, found = 0; i < c->count && found < 2; i++) {
		for (; found < 2 && at < c->buffer[i].len; at++)
			out[found++] = c->buffer[i].addr + at;
		at -= MIN(at, (u64)c->buffer[i].len);
	}
}

/* By one chain, or with mergeable buffers by several, which the driver sees at once. False: it does not fit, nothing is taken. */
static bool put(struct port *to, unsigned queue, const struct net_header *header, const struct frame *f, u32 size)
{
	struct virtio *v = &to->virtio;
	struct virtq *q = &v->queue[queue];
	u64 number[2] = { 0 };
	u32 done = 0;
	unsigned n = 0, buffers = 0;

	do {
		u64 at = n ? 0 : sizeof(*header), room, part;

		if (n == (has(to, NET_MRG_RXBUF) ? CHAINS_MAX : 1) || !virtio_next(v, queue))
			goto full;
		n++;
		buffers += v->chain.count;
		if (buffers > BUFFERS_MAX)
			goto full;
		room = virtio_bytes(v, true);
		part = MIN(room - MIN(room, at), (u64)size - done);
		if (n == 1) {
			find_number(&v->chain, number);
			if (!virtio_write(v, 0, header, sizeof(*header)))
				goto full;
		}
		if (!copy(v, at, f, done, part))
			goto full;
		virtq_stage(q, n - 1, v->chain.head, (u32)(at + part));
		done += (u32)part;
	} while (done < size);
	for (unsigned i = 0; n > 1 && i < 2; i++)
		if (guest_write(v->pci.vm, gpa(number[i]), i ? &(u8){ 0 } : &(u8){ (u8)n }, 1))
			goto full;
	virtq_publish(q, n);
	return true;
full:
	virtq_put_back(q, n);
	return false;
}

static bool give(struct port *to, unsigned queue, const struct net_header *header, const struct frame *f, u32 size)
{
	if (!put(to, queue, header, f, size)) {
		to->full++;
		return false;
	}
	to->got.frames++;
	to->got.bytes += size;
	to->got.large += header->gso_type != NET_GSO_NONE;
	return true;
}

/* ---- what the receiver's driver can take ------------------------------------------------------ */

/* All of the frame, where no guest can change it. */
static bool make_whole(struct lan *s, struct frame *f)
{
	if (!f->whole) {
		memcpy(s->frame, f->head, f->head_size);
		f->whole = virtio_read(&f->from->virtio, sizeof(struct net_header) + f->head_size, s->frame + f->head_size,
				       f->size - f->head_size);
	}
	return f->whole;
}

/* A large frame, cut; after a piece that does not fit the others are lost, too. */
static void give_pieces(struct lan *s, struct port *to, unsigned queue, struct frame *f)
{
	static const struct net_header plain = { .num_buffers = 1 };
	struct frame piece = { .flat = s->piece };

	u32 n = net_segments(&f->large, f->size), i = 0;

	while (i < n && give(to, queue, &plain, &piece, net_segment(&f->large, s->frame, f->size, i, s->piece)))
		i++;
	to->full += i < n ? n - i - 1 : 0;
}

/* The checksum filled in. */
static void give_summed(struct lan *s, struct port *to, unsigned queue, struct frame *f)
{
	static const struct net_header plain = { .num_buffers = 1 };
	struct frame whole = { .flat = s->frame };

	net_fill_checksum(&f->header, s->frame, f->size);
	/* Who comes next finds it as it was. */
	f->whole = false;
	give(to, queue, &plain, &whole, f->size);
}

static bool takes_large(const struct port *p, u8 type)
{
	u64 wanted = NET_GUEST_CSUM | ((type & ~NET_GSO_ECN) == NET_GSO_TCPV6 ? NET_GUEST_TSO6 : NET_GUEST_TSO4);

	return has(p, wanted | (type & NET_GSO_ECN ? NET_GUEST_ECN : 0));
}

static void deliver(struct lan *s, struct port *to, struct frame *f)
{
	const struct net_header *h = &f->header;
	unsigned pair = to->pairs > 1 ? to->pair_of[net_flow(f->head, f->head_size) % NET_FLOWS] : 0, queue = 2 * pair;

	/* Nobody is there: that is no frame lost. */
	if (to->stopped || !virtio_runs(&to->virtio, queue))
		return;
	s->touched |= BIT(to->net.index);
	if (h->gso_type ? takes_large(to, h->gso_type) : !h->flags || has(to, NET_GUEST_CSUM))
		give(to, queue, h, f, f->size);
	else if (!make_whole(s, f))
		f->from->bad++;
	else if (h->gso_type)
		give_pieces(s, to, queue, f);
	else
		give_summed(s, to, queue, f);
}

/* ---- out of the sender's -------------------------------------------------------------------------- */

/* Has the driver accepted what it asks for? */
static bool may_ask(const struct port *p, const struct net_header *h)
{
	u8 type = h->gso_type & (u8)~NET_GSO_ECN;

	return (!(h->flags & NET_NEEDS_CSUM) || has(p, NET_CSUM)) && (type != NET_GSO_TCPV4 || has(p, NET_HOST_TSO4)) &&
	       (type != NET_GSO_TCPV6 || has(p, NET_HOST_TSO6)) && (!(h->gso_type & NET_GSO_ECN) || has(p, NET_HOST_ECN));
}

/* The request in the chain. False: it is no frame. */
static bool take(struct port *p, struct frame *f)
{
	struct virtio *v = &p->virtio;
	u64 all = virtio_bytes(v, false);

	if (all < sizeof(f->header) + NET_ETHERNET || all > sizeof(f->header) + NET_LARGE_MAX)
		return false;
	f->from = p;
	f->size = (u32)(all - sizeof(f->header));
	f->head_size = MIN(f->size, NET_HEADERS_MAX);
	f->flat = NULL;
	f->whole = false;
	if (!virtio_read(v, 0, &f->header, sizeof(f->header)) || !virtio_read(v, sizeof(f->header), f->head, f->head_size) ||
	    !may_ask(p, &f->header))
		return false;
	f->header.num_buffers = 1;
	return net_judge(&f->header, f->head, f->head_size, f->size, &f->large);
}

static u64 mac_at(const u8 *p)
{
	u64 mac = 0;

	memcpy(&mac, p, 6);
	return mac;
}

/* The frame in hand, to one port after the other. False: so much has been done that the rest must wait. */
static bool forward(struct port *p, unsigned pair, struct frame *f, u64 *done)
{
	struct lan *s = p->segment;
	unsigned *at = &p->at[pair];
	struct net_port *to;

	if (!*at) {
		if (!net_admit(&s->net, &p->net, mac_at(f->head + 6), (u32)(host_tsc() / (host_tsc_khz() * 1000)))) {
			p->bad++;
			return true;
		}
		p->pair_of[net_flow(f->head, f->head_size) % NET_FLOWS] = (u8)pair;
		p->sent.frames++;
		p->sent.bytes += f->size;
		p->sent.large += f->header.gso_type != NET_GSO_NONE;
	}
	while ((to = net_next(&s->net, &p->net, mac_at(f->head), at))) {
		if (*done && *done + f->size > WORK_MAX) {
			--*at;
			return false;
		}
		deliver(s, container_of(to, struct port, net), f);
		*done += MAX(f->size, COST_FRAME) + (f->header.gso_type ? net_segments(&f->large, f->size) * COST_BUFFER : 0);
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
	unsigned pair = queue / 2;
	bool more = false;
	u64 done = 0;

	while (!more && virtio_next(v, queue)) {
		struct frame f;

		more = done >= WORK_MAX;
		if (!more && !take(p, &f))
			p->bad++;
		else if (!more)
			more = !forward(p, pair, &f, &done);
		done += v->chain.count * COST_BUFFER + COST_FRAME;
		if (more) {
			virtq_put_back(&v->queue[queue], 1);
			continue;
		}
		p->at[pair] = 0;
		virtq_done(&v->queue[queue], v->chain.head, 0);
	}
	virtio_interrupt(v, queue);
	interrupt_receivers(p->segment);
	return more;
}
