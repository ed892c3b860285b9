/* SPDX-License-Identifier: GPL-2.0-only */
/* See virtqueue.h. */
#include "vmm/dev/virtio/virtqueue.h"

#include <margay/errno.h>
#include <margay/mc_access.h>

/* 2.7.5 */
struct desc {
	u64 addr;
	u32 len;
	u16 flags;
	u16 next;
};
static_assert(sizeof(struct desc) == 16, "virtio 1.2, 2.7.5");
enum { DESC_NEXT = 1, DESC_WRITE = 2, DESC_INDIRECT = 4 };

/* 2.7.6, 2.7.8; behind the last entry stands the event index of the other side. */
struct avail {
	u16 flags;
	u16 index;
	u16 ring[];
};
struct used {
	u16 flags;
	u16 index;
	struct used_entry {
		u32 id;
		u32 len;
	} ring[];
};
#define AVAIL_NO_INTERRUPT 1
#define USED_NO_NOTIFY 1

/* A table of descriptors: the queue's, or an indirect one. */
struct table {
	const struct desc *desc;
	unsigned count;
	bool indirect;
};

/* Its memory is lost: nothing more is read or written of it. */
static void lose(struct virtq *q)
{
	if (!q->is_lost)
		q->lost(q->guest);
	q->is_lost = true;
}

static u16 load(struct virtq *q, const u16 *p)
{
	u16 value = 0;

	if (likely(!q->is_lost && mc_load16(p, &value)))
		return value;
	lose(q);
	return 0;
}

static void store(struct virtq *q, u16 *p, u16 value)
{
	if (unlikely(q->is_lost || !mc_store16(p, value)))
		lose(q);
}

/* A descriptor as it is now, by two loads: none of its words is looked at twice. */
static bool copy(struct virtq *q, const struct desc *from, struct desc *to)
{
	union {
		u64 word[2];
		struct desc desc;
	} d;

	if (unlikely(!mc_load64(from, &d.word[0]) ||
		     !mc_load64((const u64 *)(const void *)from + 1, &d.word[1]))) {
		lose(q);
		return false;
	}
	*to = d.desc;
	return true;
}

/* What is there from gpa on, at most *n bytes; *n: in one piece. NULL: no RAM. */
static inline u8 *look_up(struct virtq *q, u64 gpa, u64 *n)
{
	struct gpa_window *in = &q->window;

	if (gpa - in->gpa >= in->size && !q->ram(q->guest, gpa, in))
		return NULL;
	*n = MIN(*n, in->size - (gpa - in->gpa));
	return in->at + (gpa - in->gpa);
}

/* All of it, or NULL. */
static void *whole(struct virtq *q, u64 gpa, u64 size)
{
	u64 n = size;
	void *at = look_up(q, gpa, &n);

	return n == size ? at : NULL;
}

int virtq_enable(struct virtq *q, virtq_ram *ram, virtq_lost *lost, void *guest)
{
	const u64 size = q->size;

	/* 2.7: alignments. */
	if (!IS_ALIGNED(q->area[0], 16) || !IS_ALIGNED(q->area[1], 2) || !IS_ALIGNED(q->area[2], 4))
		return -EINVAL;
	q->ram = ram;
	q->lost = lost;
	q->guest = guest;
	q->window.size = 0;
	q->desc = whole(q, q->area[0], size * sizeof(struct desc));
	q->avail = whole(q, q->area[1], sizeof(struct avail) + (size + 1) * sizeof(u16));
	q->used = whole(q, q->area[2],
			sizeof(struct used) + size * sizeof(struct used_entry) + sizeof(u16));
	q->window.size = 0;
	q->next_avail = q->next_used = q->told = 0;
	q->is_lost = false;
	q->enabled = q->desc && q->avail && q->used;
	if (q->enabled && q->quiet)
		store(q, &((struct used *)q->used)->flags, USED_NO_NOTIFY);
	return q->enabled ? 0 : -EINVAL;
}

/* 2.7.5.3: it must be all of the rest of its chain. */
static int enter_indirect(struct virtq *q, const struct desc *d, struct table *t)
{
	if (t->indirect || d->flags & DESC_NEXT || !d->len || d->len % sizeof(*d) ||
	    d->len / sizeof(*d) > VIRTQ_SIZE || !IS_ALIGNED(d->addr, sizeof(u64)))
		return -EINVAL;
	*t = (struct table){ whole(q, d->addr, d->len), d->len / sizeof(*d), true };
	return t->desc ? 0 : -EINVAL;
}

/* A buffer that is not in the RAM that was looked up last, or not all of it. */
static noinline int add_pieces(struct virtq *q, struct virtq_chain *chain, u64 gpa, u64 size)
{
	for (u64 n; size; gpa += n, size -= n) {
		struct piece *p = &chain->piece[chain->count];

		/* Only if buffers overlap, and over regions' ends. */
		if (chain->count == VIRTQ_PIECES)
			return -EINVAL;
		n = size;
		p->at = look_up(q, gpa, &n);
		p->size = n;
		chain->count++;
	}
	return 0;
}

static int add(struct virtq *q, struct virtq_chain *chain, const struct desc *d)
{
	const struct gpa_window *in = &q->window;
	bool writes = d->flags & DESC_WRITE;
	u64 at = d->addr - in->gpa;
	int err = 0;

	/* 2.7.4.2: what the device reads comes first. A chain that loops has too many. */
	if (chain->buffers++ == VIRTQ_SIZE || d->addr + d->len < d->addr ||
	    (!writes && chain->writes))
		return -EINVAL;
	chain->writes = writes;
	chain->bytes[writes] += d->len;
	if (likely(d->len && at < in->size && d->len <= in->size - at &&
		   chain->count < VIRTQ_PIECES))
		chain->piece[chain->count++] = (struct piece){ in->at + at, d->len };
	else
		err = add_pieces(q, chain, d->addr, d->len);
	if (!writes)
		chain->readable = chain->count;
	return err;
}

static int walk(struct virtq *q, struct virtq_chain *chain)
{
	struct table t = { q->desc, q->size, false };
	unsigned i = chain->head;

	for (;;) {
		struct desc d;

		if (i >= t.count || !copy(q, &t.desc[i], &d))
			return -EINVAL;
		if (d.flags & DESC_INDIRECT) {
			if (enter_indirect(q, &d, &t))
				return -EINVAL;
			i = 0;
			continue;
		}
		chain->too_long = q->longest && chain->buffers == q->longest;
		if (chain->too_long)
			return 0;
		if (add(q, chain, &d))
			return -EINVAL;
		if (!(d.flags & DESC_NEXT))
			return 0;
		i = d.next;
	}
}

u16 virtq_watch(struct virtq *q)
{
	const struct avail *avail = q->avail;
	struct used *used = q->used;
	u16 index = load(q, &avail->index);

	if (!q->event_index)
		return index;
	/*
	 * avail_event; then the index once more, for the driver writes that before it reads this
	 * (2.7.10).
	 */
	store(q, (u16 *)(void *)&used->ring[q->size], index);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return load(q, &avail->index);
}

int virtq_more(struct virtq *q, struct virtq_chain *chain)
{
	const struct avail *avail = q->avail;
	u16 index = load(q, &avail->index);

	if (index == q->next_avail && !q->quiet)
		index = virtq_watch(q);
	if (index == q->next_avail || q->is_lost)
		return 0;
	if ((u16)(index - q->next_avail) > q->size)
		return -EINVAL;
	chain->head = load(q, &avail->ring[q->next_avail++ & (q->size - 1u)]);
	chain->buffers = 0;
	chain->readable = chain->count;
	chain->bytes[0] = chain->bytes[1] = 0;
	chain->too_long = chain->writes = false;
	if (!q->is_lost && !walk(q, chain))
		return 1;
	return q->is_lost ? 0 : -EINVAL;
}

int virtq_next(struct virtq *q, struct virtq_chain *chain)
{
	chain->count = 0;
	return virtq_more(q, chain);
}

void virtq_put_back(struct virtq *q, unsigned n)
{
	q->next_avail -= (u16)n;
	q->window.size = 0;
}

void virtq_stage(struct virtq *q, unsigned i, unsigned head, u32 written)
{
	struct used *used = q->used;

	if (unlikely(q->is_lost || !mc_store64(&used->ring[(q->next_used + i) & (q->size - 1u)],
					       head | (u64)written << 32)))
		lose(q);
}

void virtq_publish(struct virtq *q, unsigned n)
{
	struct used *used = q->used;

	q->next_used += (u16)n;
	q->window.size = 0;
	store(q, &used->index, q->next_used);
}

void virtq_done(struct virtq *q, unsigned head, u32 written)
{
	virtq_stage(q, 0, head, written);
	virtq_publish(q, 1);
}

bool virtq_interrupts(struct virtq *q)
{
	const struct avail *avail = q->avail;
	u16 new = q->next_used, old = q->told, event;

	if (new == old)
		return false;
	q->told = new;
	/* The used index before what the driver says of it (2.7.7, 2.7.10). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!q->event_index)
		return !(load(q, &avail->flags) & AVAIL_NO_INTERRUPT);
	event = load(q, &avail->ring[q->size]);
	return (u16)(new - event - 1) < (u16)(new - old);
}
