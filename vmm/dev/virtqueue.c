/* SPDX-License-Identifier: GPL-2.0-only */
/* See virtqueue.h. */
#include "vmm/dev/virtqueue.h"

#include <margay/errno.h>

/* 2.7.5 */
struct desc {
	u64 addr;
	u32 len;
	u16 flags, next;
};
static_assert(sizeof(struct desc) == 16, "virtio 1.2, 2.7.5");
enum { DESC_NEXT = 1, DESC_WRITE = 2, DESC_INDIRECT = 4 };

/* 2.7.6, 2.7.8; behind the last entry stands the event index of the other side. */
struct avail {
	u16 flags, index, ring[];
};
struct used {
	u16 flags, index;
	struct used_entry {
		u32 id, len;
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

static u16 read_once(const u16 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* A descriptor as it is now, by two loads: none of its words is looked at twice. */
static struct desc copy(const struct desc *from)
{
	union {
		u64 word[2];
		struct desc desc;
	} d;

	d.word[0] = __atomic_load_n((const u64 *)(const void *)from, __ATOMIC_RELAXED);
	d.word[1] = __atomic_load_n((const u64 *)(const void *)from + 1, __ATOMIC_RELAXED);
	return d.desc;
}

int virtq_enable(struct virtq *q, virtq_memory *memory, void *guest)
{
	const u64 size = q->size;

	/* 2.7: alignments. */
	if (!IS_ALIGNED(q->area[0], 16) || !IS_ALIGNED(q->area[1], 2) || !IS_ALIGNED(q->area[2], 4))
		return -EINVAL;
	q->desc = memory(guest, q->area[0], size * sizeof(struct desc));
	q->avail = memory(guest, q->area[1], sizeof(struct avail) + (size + 1) * sizeof(u16));
	q->used = memory(guest, q->area[2], sizeof(struct used) + size * sizeof(struct used_entry) + sizeof(u16));
	q->next_avail = q->next_used = q->told = 0;
	q->enabled = q->desc && q->avail && q->used;
	if (q->enabled && q->quiet)
		__atomic_store_n(&((struct used *)q->used)->flags, USED_NO_NOTIFY, __ATOMIC_RELAXED);
	return q->enabled ? 0 : -EINVAL;
}

/* 2.7.5.3: it must be all of the rest of its chain. */
static int enter_indirect(const struct desc *d, virtq_memory *memory, void *guest, struct table *t)
{
	if (t->indirect || d->flags & DESC_NEXT || !d->len || d->len % sizeof(*d) || d->len / sizeof(*d) > VIRTQ_SIZE ||
	    !IS_ALIGNED(d->addr, sizeof(u64)))
		return -EINVAL;
	*t = (struct table){ memory(guest, d->addr, d->len), d->len / sizeof(*d), true };
	return t->desc ? 0 : -EINVAL;
}

static int add(struct virtq_chain *chain, const struct desc *d)
{
	bool writes = d->flags & DESC_WRITE;

	/* 2.7.4.2: what the device reads comes first. A chain that loops has too many. */
	if (chain->count == VIRTQ_SIZE || d->addr + d->len < d->addr || (!writes && chain->readable < chain->count))
		return -EINVAL;
	chain->buffer[chain->count++] = (struct virtq_buffer){ d->addr, d->len };
	chain->readable += !writes;
	return 0;
}

static int walk(const struct virtq *q, virtq_memory *memory, void *guest, struct virtq_chain *chain)
{
	struct table t = { q->desc, q->size, false };
	unsigned i = chain->head;

	for (;;) {
		struct desc d;

		if (i >= t.count)
			return -EINVAL;
		d = copy(&t.desc[i]);
		if (d.flags & DESC_INDIRECT) {
			if (enter_indirect(&d, memory, guest, &t))
				return -EINVAL;
			i = 0;
			continue;
		}
		if (add(chain, &d))
			return -EINVAL;
		if (!(d.flags & DESC_NEXT))
			return 0;
		i = d.next;
	}
}

u16 virtq_watch(const struct virtq *q)
{
	const struct avail *avail = q->avail;
	struct used *used = q->used;
	u16 index = read_once(&avail->index);

	if (!q->event_index)
		return index;
	/* avail_event; then the index once more, for the driver writes that before it reads this (2.7.10). */
	__atomic_store_n((u16 *)(void *)&used->ring[q->size], index, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return read_once(&avail->index);
}

int virtq_next(struct virtq *q, virtq_memory *memory, void *guest, struct virtq_chain *chain)
{
	const struct avail *avail = q->avail;
	u16 index = read_once(&avail->index);

	if (index == q->next_avail && !q->quiet)
		index = virtq_watch(q);
	if (index == q->next_avail)
		return 0;
	if ((u16)(index - q->next_avail) > q->size)
		return -EINVAL;
	chain->head = read_once(&avail->ring[q->next_avail++ & (q->size - 1u)]);
	chain->count = chain->readable = 0;
	return walk(q, memory, guest, chain) ? -EINVAL : 1;
}

void virtq_put_back(struct virtq *q, unsigned n)
{
	q->next_avail -= (u16)n;
}

void virtq_stage(struct virtq *q, unsigned i, unsigned head, u32 written)
{
	struct used *used = q->used;

	used->ring[(q->next_used + i) & (q->size - 1u)] = (struct used_entry){ head, written };
}

void virtq_publish(struct virtq *q, unsigned n)
{
	struct used *used = q->used;

	q->next_used += (u16)n;
	__atomic_store_n(&used->index, q->next_used, __ATOMIC_RELEASE);
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
		return !(read_once(&avail->flags) & AVAIL_NO_INTERRUPT);
	event = read_once(&avail->ring[q->size]);
	return (u16)(new - event - 1) < (u16)(new - old);
}
