/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/dev/virtio/virtio_net_send.c and virtio_net_copy.c: a frame on its way, and what
 * it costs.
 */
#ifndef VMM_VIRTIO_NET_SEND_H
#define VMM_VIRTIO_NET_SEND_H

#include "vmm/dev/virtio/virtio_net.h"

/*
 * What is done in one go, before the vCPU looks at what may keep it from its guest, and at most
 * while a receiver's lock is held: in instructions, about, as many as a plain frame of 64 KiB takes
 * (test_net_hold.c counts them). A piece of work begins if what it is expected to take is left, or
 * as the first; what a receiver's chains cost beyond that is known when they have been met. What
 * others that had a receiver's lock kept us waiting counts, too, a cycle as an instruction.
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

struct hold {
	u32 done;
	bool any; /* has begun */
};

/* What is judged of a frame; the rest is in the sender's list only. */
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

static inline bool port_has(const struct port *p, u64 features)
{
	return (p->virtio.accepted & features) == features;
}

/* Under the receiver's lock. False: it, or the rest of it, must wait. */
bool net_deliver(struct port *to, const struct frame *f, u32 *piece, struct hold *h);

#endif
