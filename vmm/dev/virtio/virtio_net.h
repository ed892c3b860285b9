/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/dev/virtio/virtio_net*.c: the interfaces of VMs (virtio 1.2, 5.1), and the
 * segments that join them.
 */
#ifndef VMM_VIRTIO_NET_H
#define VMM_VIRTIO_NET_H

#include "vmm/dev/virtio/net_frame.h"
#include "vmm/dev/virtio/net_switch.h"
#include "vmm/dev/virtio/virtio.h"
#include "vmm/vm.h"
#include "vmm/vm/net_counts.h"

#define NET_PAIRS 2u /* of queues: 0 and 2 are received by, 1 and 3 sent by */
#define NET_FLOWS 64u
/* of a frame at most, the sender's or a receiver's: Linux' own has no more than 19 */
#define NET_BUFFERS 64u
/* in the host: each may lie in several regions of RAM; beside the header and the first bytes */
#define NET_PIECES (2 + NET_BUFFERS + GPA_MAP_MAX)

/* 5.1.3 */
enum {
	NET_CSUM = BIT(0),
	NET_GUEST_CSUM = BIT(1),
	NET_F_MTU = BIT(3),
	NET_F_MAC = BIT(5),
	NET_GUEST_TSO4 = BIT(7),
	NET_GUEST_TSO6 = BIT(8),
	NET_GUEST_ECN = BIT(9),
	NET_HOST_TSO4 = BIT(11),
	NET_HOST_TSO6 = BIT(12),
	NET_HOST_ECN = BIT(13),
	NET_MRG_RXBUF = BIT(15),
	NET_STATUS = BIT(16),
	NET_CTRL_VQ = BIT(17),
	NET_MQ = BIT(22),
};

/* 5.1.4, as far as the features go. */
struct net_config {
	u8 mac[6];
	u16 status;
	u16 max_pairs;
	u16 mtu;
};

struct net_list {
	unsigned count;
	struct piece piece[NET_PIECES];
};

/*
 * A segment, while somebody is on it. Its lock is held for a look-up: who gets a frame. Who sends
 * has his function's first lock (pci_virtual.h); with that he takes the segment's for the look-up
 * of a frame and gives it back, then for each receiver in turn the second lock of that one's
 * function, while the frame is put into its queue. Behind neither of these is another one of a
 * segment or a function taken, so nobody waits in a circle; and who waits does so for one look-up,
 * or one frame, of each that came before.
 *
 * A port that was looked up stays until the sender's batch is done: `held` says so, and who takes
 * it away hides it first, then waits for those who hold it (net_destroy()).
 */
struct lan {
	struct lan *next; /* guarded by the list's lock */
	unsigned members; /* likewise */
	char name[VM_SEGMENT_MAX + 1];
	struct spinlock lock; /* guards all below, and what of the ports is net_switch.h's */
	struct net_segment net;
};

/* What is guarded by its function's first lock, but for what is said. */
struct port {
	struct virtio virtio;
	struct net_port net;
	struct net_config config;
	struct lan *segment; /* NULL: not on it */
	unsigned number; /* of the VM's interfaces */
	bool stopped; /* a vCPU has left: no more interrupts; by the second lock */
	u16 pairs; /* that the driver uses; others read it */
	struct net_hand {
		bool counted;
		unsigned at; /* how far it has come among the ports, */
		u32 piece; /* and to the next of them, if it is cut */
	} hand[NET_PAIRS]; /* by pair: the frame in hand */
	/* by which pair the driver has sent last, by net_flow(); others read it */
	u8 pair_of[NET_FLOWS];
	struct net_counts counts; /* `got` and its drops: by the second lock */
	u8 vlans[NET_VLANS / 8]; /* net's, if it knows any */
	/*
	 * Ports by index: those that it has looked up in this batch; set under the segment's lock,
	 * cleared without. And those that have got something, and no interrupt yet.
	 */
	u64 held;
	u64 touched;
	/* The frame in hand: its header, its first bytes, copied; the rest at the sender's. */
	struct net_list frame;
	struct virtq_chain room; /* where it goes to: the receiver's chains, one behind another */
	u8 made[NET_FRAME_MAX]; /* one that is worked on */
};

/*
 * virtio_net_send.c: sends what the driver has offered in a queue; true: there is more. Under the
 * first lock of its function.
 */
bool net_transmit(struct port *p, unsigned queue);

#endif
