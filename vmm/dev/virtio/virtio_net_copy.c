/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A frame into the buffers that a receiver's driver has offered (virtio 1.2, 5.1.6), copied on the
 * sender's CPU. What the driver cannot take as it is, is made frames of the usual size, with
 * checksums.
 */
#include <margay/string.h>

#include "vmm/dev/virtio/virtio_net_send.h"

/*
 * What a frame may take of a receiver's, whose driver shall not make work for others: of 1,536
 * bytes it takes 43.
 */
#define CHAINS_MAX 64u

/* What a receiver gets: so many bytes behind a header, as a list whose first piece is that. */
struct cargo {
	struct net_header header;
	u32 size;
	unsigned count;
	struct piece *list;
	struct vm *vm; /* whose memory it is; NULL: the hypervisor's */
	struct virtq_chain *room;
};

static bool begin(struct hold *h, u32 cost)
{
	if (h->any && h->done + cost > WORK_MAX)
		return false;
	h->any = true;
	h->done += cost;
	return true;
}

/* From byte `at` of the frame in hand on, its header not counted. */
static struct place frame_place(const struct frame *f, u64 at)
{
	const struct net_list *l = &f->from->frame;

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

/* The next chain, behind those in `room`: what its driver lets be read only is no room. */
static bool more_room(struct port *to, unsigned queue, struct virtq_chain *room)
{
	unsigned first = room->count;

	if (!virtio_more(&to->virtio, queue, room))
		return false;
	if (unlikely(room->readable > first)) {
		room->count -= room->readable - first;
		memmove(room->piece + first, room->piece + room->readable,
			(room->count - first) * sizeof(*room->piece));
	}
	return true;
}

/*
 * Chains with room for so many bytes, staged as used, in the list: one, or with mergeable buffers
 * several. *n: how many were taken. False: they are not enough.
 */
static bool find_room(struct port *to, unsigned queue, struct virtq_chain *room, u64 size,
		      unsigned *n, struct hold *h)
{
	unsigned most = port_has(to, NET_MRG_RXBUF) ? CHAINS_MAX : 1, buffers = 0;

	room->count = 0;
	for (*n = 0; size; ++*n) {
		u64 part;

		if (*n == most || !more_room(to, queue, room))
			return false;
		buffers += room->buffers;
		h->done += COST_CHAIN + room->buffers * COST_BUFFER;
		part = MIN(room->bytes[true], size);
		virtq_stage(&to->virtio.queue[queue], *n, room->head, (u32)part);
		/* 5.1.6.4: the header is in the first. */
		if (room->too_long || buffers > NET_BUFFERS || room->count > NET_PIECES ||
		    (!*n && part < sizeof(struct net_header))) {
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
	struct place in = { c->room->piece, NULL, 0 }, from = { c->list, c->list + c->count, 0 };
	u64 size = sizeof(c->header) + c->size;
	unsigned n;

	if (find_room(to, queue, c->room, size, &n, h)) {
		c->header.num_buffers = (u16)n;
		c->list[0] = (struct piece){ (u8 *)&c->header, sizeof(c->header) };
		in.end = in.piece + c->room->count;
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
static bool give_made(struct port *to, unsigned queue, struct port *from, u32 size, struct hold *h)
{
	struct piece list[] = { { 0 }, { from->made, size } };
	struct cargo c = {
		.size = size, .count = ARRAY_SIZE(list), .list = list, .room = &from->room
	};

	return give(to, queue, &c, h);
}

/* ---- what the receiver's driver can take ------------------------------------------------ */

/*
 * A large frame, cut: from the piece on that is next. Each is copied to where no guest can change
 * it, behind judged headers. False: the rest must wait. After one that does not fit the others are
 * lost, too.
 */
static bool give_pieces(struct port *to, unsigned queue, const struct frame *f, u32 *next,
			struct hold *h)
{
	u32 n = net_segments(&f->large, f->size), i = *next;
	struct place from = frame_place(f, net_piece(&f->large, f->size, i).at);
	u8 *made = f->from->made;

	for (; i < n; i++) {
		u32 size = net_piece(&f->large, f->size, i).size;

		*next = i;
		if (!begin(h, COST_FRAME + 2 * COST_COPY(size) + COST_SUM(size)))
			return false;
		if (!bring(f, &from, made + f->large.headers, size))
			break;
		size = net_segment(&f->large, f->head, f->size, i, made);
		if (!give_made(to, queue, f->from, size, h)) {
			to->counts.drop[NET_DROP_NO_BUFFER] += n - i - 1;
			break;
		}
	}
	return true;
}

/* The checksum filled in, in a copy that no guest can change. */
static bool give_summed(struct port *to, unsigned queue, const struct frame *f, struct hold *h)
{
	struct place from = frame_place(f, 0);
	u8 *made = f->from->made;

	if (!begin(h, COST_FRAME + 2 * COST_COPY(f->size) + COST_SUM(f->size)))
		return false;
	if (bring(f, &from, made, f->size)) {
		net_fill_checksum(&f->header, made, f->size);
		give_made(to, queue, f->from, f->size, h);
	}
	return true;
}

static bool takes_large(const struct port *p, u8 type)
{
	u64 wanted = NET_GUEST_CSUM |
		     ((type & ~NET_GSO_ECN) == NET_GSO_TCPV6 ? NET_GUEST_TSO6 : NET_GUEST_TSO4);

	return port_has(p, wanted | (type & NET_GSO_ECN ? NET_GUEST_ECN : 0));
}

/* The queue by which it comes: of the pair by which the driver has sent what belongs to it. */
static unsigned queue_of(const struct port *to, const struct frame *f)
{
	if (__atomic_load_n(&to->pairs, __ATOMIC_RELAXED) < 2)
		return 0;
	return 2u * __atomic_load_n(&to->pair_of[net_flow(f->head, f->head_size) % NET_FLOWS],
				    __ATOMIC_RELAXED);
}

bool net_deliver(struct port *to, const struct frame *f, u32 *piece, struct hold *h)
{
	const struct net_header *header = &f->header;
	struct port *p = f->from;
	struct cargo c = { *header,        f->size,          p->frame.count,
			   p->frame.piece, p->virtio.pci.vm, &p->room };
	unsigned queue = queue_of(to, f);

	/* Nobody is there: that is no frame lost. */
	if (to->stopped || !virtio_runs(&to->virtio, queue))
		return true;
	if (!virtio_others_may(&to->virtio, queue)) {
		to->counts.drop[NET_DROP_PAUSED]++;
		return true;
	}
	if (!(p->touched & BIT(to->net.index)))
		h->done += to->virtio.pci.vm->nr_vcpus * COST_VCPU;
	p->touched |= BIT(to->net.index);
	/* The one of this receiver: it may have another tag. */
	p->frame.piece[1] = (struct piece){ (u8 *)(uintptr_t)f->head, f->head_size };
	if (header->gso_type && !takes_large(to, header->gso_type))
		return give_pieces(to, queue, f, piece, h);
	if (!header->gso_type && header->flags && !port_has(to, NET_GUEST_CSUM))
		return give_summed(to, queue, f, h);
	if (!begin(h, COST_FRAME + COST_COPY(f->size)))
		return false;
	give(to, queue, &c, h);
	return true;
}
