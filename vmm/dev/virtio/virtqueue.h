/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: split virtqueues (virtio 1.2, 2.7) as the device sees them. The driver is hostile
 * and may change its memory at any time: what is judged is a copy, read once. One pass over a chain
 * makes it a list of host addresses, by which devices copy. All calls of a queue under one lock.
 */
#ifndef VMM_VIRTQUEUE_H
#define VMM_VIRTQUEUE_H

#include "vmm/dev/virtio/pieces.h"
#include "vmm/memory/gpa_map.h"

#define VIRTQ_SIZE 1024u /* entries at most, and buffers of a chain */
/* of these: a buffer that lies in several regions of RAM is a piece in each */
#define VIRTQ_PIECES (VIRTQ_SIZE + GPA_MAP_MAX)

/* What a request consists of: first what the device reads, then what it writes. */
struct virtq_chain {
	unsigned head;    /* its first descriptor */
	unsigned buffers; /* with those that are empty, and are no piece */
	/* pieces, and how many of these the device reads; what is no RAM has no address */
	unsigned count;
	unsigned readable;
	u64 bytes[2]; /* that it reads, that it writes */
	/* it has more buffers than the queue's `longest`: these are the first of them */
	bool too_long;
	bool writes; /* there is a buffer to write to */
	struct piece piece[VIRTQ_PIECES];
};

/* The guest's RAM about that address, *w; false: there is none. */
typedef bool virtq_ram(void *guest, u64 gpa, struct gpa_window *w);

/* A queue of the guest's has met memory that the machine has lost; once. */
typedef void virtq_lost(void *guest);

struct virtq {
	/* The driver's choice. */
	/* guest-physical: descriptors, driver area (available), device area (used) */
	u64 area[3];
	/* a power of two up to VIRTQ_SIZE; the transport's */
	u16 size;
	u16 vector;

	bool enabled;
	bool event_index;
	/* the device's: nobody waits for what is offered, so that the driver need not notify */
	bool quiet;
	u16 longest;         /* likewise: buffers of a chain that it looks at; 0: all */
	/* From virtq_enable() on. Modulo 2^16; told: next_used at the last interrupt. */
	u16 next_avail;
	u16 next_used;
	u16 told;
	void *desc;
	void *avail;
	void *used;
	virtq_ram *ram;
	virtq_lost *lost;
	void *guest;
	/* the machine has lost some of its memory: there is nothing in it any more */
	bool is_lost;
	/*
	 * RAM that was looked up since something was given back last: most buffers are in the same.
	 * No longer, for memory that gets lost is to be known.
	 */
	struct gpa_window window;
};

/* Finds the three areas: 0; -EINVAL: they are not in the guest's RAM, or not aligned. */
int virtq_enable(struct virtq *q, virtq_ram *ram, virtq_lost *lost, void *guest);
/*
 * 1: the next request, in *chain; 0: there is none, and the driver will notify; -EINVAL: the ring
 * or the chain is broken.
 */
int virtq_next(struct virtq *q, struct virtq_chain *chain);
/*
 * The same, its pieces behind those that are in the list: `count` and `readable` count all, the
 * rest is of this one.
 */
int virtq_more(struct virtq *q, struct virtq_chain *chain);
/* The driver's index: how many it has ever offered, modulo 2^16. It will notify of the next one. */
u16 virtq_watch(struct virtq *q);
/* The last n of virtq_next() shall come once more. */
void virtq_put_back(struct virtq *q, unsigned n);
/* Gives a request back, of which the device has written so many bytes. */
void virtq_done(struct virtq *q, unsigned head, u32 written);
/*
 * The same of several at once, which the driver sees together: each by its number from 0 on, then
 * all of them.
 */
void virtq_stage(struct virtq *q, unsigned i, unsigned head, u32 written);
void virtq_publish(struct virtq *q, unsigned n);
/* Does the driver want an interrupt for what was given back since this was asked last? */
bool virtq_interrupts(struct virtq *q);

#endif
