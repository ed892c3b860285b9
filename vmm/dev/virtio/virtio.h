/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtio devices as PCI functions, of version 1 only (virtio 1.2, 2 and 4.1): what
 * vmm/dev/virtio/virtio.c does for each of them.
 */
#ifndef VMM_VIRTIO_H
#define VMM_VIRTIO_H

#include "vmm/dev/virtio/virtqueue.h"
#include "vmm/pci/pci_virtual.h"

#define VIRTIO_QUEUES (IS_ENABLED(CONFIG_MANAGEMENT_VM) ? 10u : 5u)
#define VIRTIO_NO_VECTOR 0xffffu

struct virtio {
	struct pci_virtual pci;
	/* The device's, before virtio_add(). */
	/* virtio 1.2, chapter 5 */
	unsigned type;
	unsigned nr_queues;
	unsigned config_size;
	u16 queue_size; /* entries at most; 0: 128 */
	/*
	 * chain, in buffers, of which a device has all that it is; 0: any. See struct virtq_chain
	 */
	u16 longest;
	const void *config; /* device configuration, which the driver reads */
	u64 features; /* beside those of the transport */
	/*
	 * Works on a queue that is enabled, for the driver has notified; does a bounded amount. The
	 * function's first lock is held, here and where nothing else is said. True: there is more
	 * of it. It gives back by virtq_done() and ends with virtio_interrupt().
	 */
	bool (*run)(struct virtio *v, unsigned queue);
	/* Need it not be notified of what the queue is offered? NULL: it need. */
	bool (*quiet)(const struct virtio *v, unsigned queue);
	/* forgets what it has of the queues; NULL: nothing; both locks are held */
	void (*reset)(struct virtio *v);
	/* The transport's. */
	u64 accepted;
	u32 feature_select[2]; /* of the device's, of the driver's */
	u16 selected;
	u16 config_vector;
	u8 status;
	u8 isr;
	/* queues with work left, bits by number: virtio_again(); which of them is next */
	u16 again;
	u16 turn;

	struct virtq queue[VIRTIO_QUEUES];
	struct virtq_chain chain; /* of run() */
};

/* The VM gets the device. 0 or -errno, printed. */
int virtio_add(struct vm *vm, struct virtio *v, u32 class_code);
/* May the device work on the queue? Asked by itself when it runs for another reason than run(). */
bool virtio_runs(const struct virtio *v, unsigned queue);
/*
 * And may a CPU that is not of its vCPU in an exit, for another VM's frame or what was typed? Not
 * while its VM is paused: then its memory stays as it is. One of the locks is held
 * (pci_virtual_settle()), and the device says `others`.
 */
bool virtio_others_may(const struct virtio *v, unsigned queue);
/*
 * The next request of a queue, in v->chain: true; false: there is none, or the driver has broken
 * its queue and must reset.
 */
bool virtio_next(struct virtio *v, unsigned queue);
/*
 * The same of a queue that another VM's CPU fills, with the second lock held: its pieces are put
 * behind those in the list.
 */
bool virtio_more(struct virtio *v, unsigned queue, struct virtq_chain *chain);
/*
 * Enough has been done at once: this vCPU goes on with the queue, as pci_virtual_again() says. The
 * lock is held.
 */
void virtio_again(struct virtio *v, struct vcpu *vcpu, unsigned queue);
/*
 * Tells the driver, if it wants to know, what was given back. The other: with the second lock held,
 * as after virtio_more().
 */
void virtio_interrupt(struct virtio *v, unsigned queue);
void virtio_interrupt_by_other(struct virtio *v, unsigned queue);
/* Where byte `at` is of what the device reads, or writes, in the chain. */
struct place virtio_place(const struct virtio *v, bool writable, u64 at);
/*
 * Copies between lists, `size` bytes, both places go on; whose memory they are, NULL: the
 * hypervisor's. False: one ends, or is no RAM there, or is lost, which ends that VM.
 */
bool virtio_copy(struct vm *to_vm, struct place *to, struct vm *from_vm, struct place *from,
		 u64 size);
/* Copies between buf and the chain, from a place of what the device reads, or writes. */
bool virtio_get(struct virtio *v, struct place *from, void *buf, u64 size);
bool virtio_put(struct virtio *v, struct place *to, const void *buf, u64 size);
/* The same from byte `at` on. */
bool virtio_read(struct virtio *v, u64 at, void *buf, u64 size);
bool virtio_write(struct virtio *v, u64 at, const void *buf, u64 size);
/* Bytes of the chain that the device reads, or writes. */
static inline u64 virtio_bytes(const struct virtio *v, bool writable)
{
	return v->chain.bytes[writable];
}

#endif
