/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A virtio driver by hand (virtio 1.2, 2.7 and 4.1): PCI functions of version 1, split rings,
 * polled. One exit does all that was notified, so that what is not in the used ring behind it will
 * never be. virtio_exits counts the accesses that exit.
 */
#ifndef TINY_VIRTIO_H
#define TINY_VIRTIO_H

#include "pci.h"
#include "tiny.h"

#define VIRTIO_BLOCK 0x10421af4u
#define VIRTIO_CONSOLE 0x10431af4u
#define VIRTQ_SIZE 128u

enum virtio_register {
	FEATURE_SELECT = 0,
	FEATURE = 4,
	ACCEPT_SELECT = 8,
	ACCEPT = 12,
	CONFIG_VECTOR = 16,
	STATUS = 20,
	SELECT = 22,
	QUEUE_SIZE = 24,
	QUEUE_VECTOR = 26,
	QUEUE_ENABLE = 28,
	QUEUE_DESC = 32,
	QUEUE_AVAIL = 40,
	QUEUE_USED = 48,
};
enum { DRIVER_OK = 15, NEEDS_RESET = 0x40 };
enum { DESC_NEXT = 1, DESC_WRITE = 2, DESC_INDIRECT = 4 };
enum { BLOCK_IN, BLOCK_OUT };

struct virtq_desc {
	u64 addr;
	u32 len;
	u16 flags;
	u16 next;
};

struct virtq {
	struct virtq_desc desc[VIRTQ_SIZE];
	struct {
		u16 flags;
		u16 index;
		u16 ring[VIRTQ_SIZE];
		u16 event;
	} avail;
	struct {
		u16 flags;
		u16 index;
		struct {
			u32 id;
			u32 len;
		} ring[VIRTQ_SIZE];
		u16 event;
	} used __attribute__((aligned(4)));
} __attribute__((aligned(4096)));

struct virtio {
	u32 bdf;
	u32 notify_step;
	/* by cfg_type (4.1.4): 1 common, 2 notifications, 3 ISR, 4 the device's */
	volatile u8 *area[5];
	volatile struct virtq queue[5];
};

static u64 virtio_exits;

static inline void mmio_write(volatile u8 *at, unsigned size, u64 value)
{
	virtio_exits++;
	if (size == 1)
		*at = (u8)value;
	else if (size == 2)
		*(volatile u16 *)at = (u16)value;
	else if (size == 4)
		*(volatile u32 *)at = (u32)value;
	else
		*(volatile u64 *)at = value;
}

static inline u32 mmio_read(volatile u8 *at, unsigned size)
{
	virtio_exits++;
	if (size == 1)
		return *at;
	return size == 2 ? *(volatile u16 *)at : *(volatile u32 *)at;
}

static inline void put(struct virtio *v, enum virtio_register reg, unsigned size, u64 value)
{
	mmio_write(v->area[1] + reg, size, value);
}

static inline u32 get(struct virtio *v, enum virtio_register reg, unsigned size)
{
	return mmio_read(v->area[1] + reg, size);
}

/* The n-th function with these IDs, on whatever bus, by mechanism 1. */
static inline bool virtio_find(struct virtio *v, u32 ids, unsigned n)
{
	u32 bdf = 0;

	while (bdf < 16 * 256 && (pci_read(bdf, 0) != ids || n--))
		bdf += 8;
	if (bdf == 16 * 256)
		return false;
	v->bdf = bdf;
	pci_write(bdf, 4, 6);
	for (u32 at = pci_read(bdf, 0x34) & 0xfc; at; at = pci_read(bdf, at) >> 8 & 0xfc) {
		u32 head = pci_read(bdf, at), type = head >> 24;

		if ((head & 0xff) == 9 && type < ARRAY_SIZE(v->area))
			v->area[type] = (volatile u8 *)(u64)((pci_read(bdf, 0x10) & ~0xfu) +
							     pci_read(bdf, at + 8));
		if ((head & 0xff) == 9 && type == 2)
			v->notify_step = pci_read(bdf, at + 16);
	}
	return v->area[1] && v->area[2] && v->area[3] && v->area[4];
}

/* Reset, features (version 1 and these), up to the queues. */
static inline void virtio_reset(struct virtio *v, u32 features)
{
	put(v, STATUS, 1, 0);
	put(v, STATUS, 1, 3);
	put(v, ACCEPT_SELECT, 4, 0);
	put(v, ACCEPT, 4, features);
	put(v, ACCEPT_SELECT, 4, 1);
	put(v, ACCEPT, 4, 1);
	put(v, STATUS, 1, 11);
}

static inline void virtio_queue(struct virtio *v, u16 n, const u64 area[3])
{
	put(v, SELECT, 2, n);
	put(v, QUEUE_SIZE, 2, VIRTQ_SIZE);
	put(v, QUEUE_DESC, 8, area[0]);
	put(v, QUEUE_AVAIL, 8, area[1]);
	put(v, QUEUE_USED, 8, area[2]);
	put(v, QUEUE_ENABLE, 2, 1);
}

/* All of it (3.1.1), with these features and empty rings. */
static inline void virtio_start_with(struct virtio *v, unsigned queues, u32 features)
{
	volatile u64 *p = (volatile u64 *)v->queue;

	virtio_reset(v, features);
	for (u64 i = 0; i < queues * sizeof(v->queue[0]) / 8; i++)
		p[i] = 0;
	for (u16 n = 0; n < queues; n++)
		virtio_queue(v, n,
			     (u64[]){ (u64)v->queue[n].desc, (u64)&v->queue[n].avail,
				      (u64)&v->queue[n].used });
	put(v, STATUS, 1, DRIVER_OK);
}

static inline void virtio_start(struct virtio *v, unsigned queues)
{
	virtio_start_with(v, queues, 0);
}

static inline void set_desc(volatile struct virtq *q, unsigned i, u64 addr, u32 len, u16 flags,
			    u16 next)
{
	q->desc[i].addr = addr;
	q->desc[i].len = len;
	q->desc[i].flags = flags;
	q->desc[i].next = next;
}

static inline void offer(volatile struct virtq *q, u16 head)
{
	q->avail.ring[q->avail.index % VIRTQ_SIZE] = head;
	q->avail.index++;
}

static inline void notify(struct virtio *v, u16 n)
{
	mmio_write(v->area[2] + n * v->notify_step, 2, n);
}

/* 5.2.6 */
struct block_request {
	u32 type;
	u32 reserved;
	u64 sector;
	u8 status;
};

/* A request in three descriptors from 3 * n on; not offered. */
static inline void block_prepare(struct virtio *v, unsigned n, volatile struct block_request *r,
				 u32 type, u64 sector, u64 data, u32 size)
{
	u16 at = (u16)(3 * n);

	r->type = type;
	r->reserved = 0;
	r->sector = sector;
	r->status = 0xff;
	set_desc(v->queue, at, (u64)r, 16, DESC_NEXT, at + 1);
	set_desc(v->queue, at + 1u, data, size,
		 type == BLOCK_IN ? DESC_NEXT | DESC_WRITE : DESC_NEXT, at + 2);
	set_desc(v->queue, at + 2u, (u64)&r->status, 1, DESC_WRITE, 0);
}

/* One request, done; its status, 0xff: none was given back. */
static inline u8 block_do(struct virtio *v, u32 type, u64 sector, volatile void *data, u32 size)
{
	static volatile struct block_request r;
	u16 before = v->queue->used.index;

	block_prepare(v, 0, &r, type, sector, (u64)data, size);
	offer(v->queue, 0);
	notify(v, 0);
	return v->queue->used.index == (u16)(before + 1) ? r.status : 0xff;
}

/* What the test's module has at each word of 64 bits, from its first one on. */
static inline u64 disk_word(u64 n)
{
	return (n + 1) * 0x9e3779b97f4a7c15ull ^ n >> 3;
}

/* The first of so many words that is not the disk's from word `from` on; or count. */
static inline u64 disk_differs(const volatile u64 *data, u64 from, u64 count)
{
	u64 i = 0;

	while (i < count && data[i] == disk_word(from + i))
		i++;
	return i;
}

#endif
