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
 * A segment, while somebody is on it. Its lock is that of all functions on it: who sends has all
 * that he needs of the receivers, whose drivers may reset them at any time, and two that send to
 * each other do not wait for each other.
 */
struct lan {
	struct lan *next; /* guarded by the list's lock */
	unsigned members; /* likewise */
	char name[VM_SEGMENT_MAX + 1];
	struct spinlock lock; /* guards all below, and the ports */
	struct net_segment net;
	u64 touched; /* ports, by index, that have got frames and no interrupt yet */
	/* The frame in hand: its header, its first bytes, copied; the rest at the sender's. */
	struct net_list frame;
	/* where it goes to: the receiver's chains, one behind another */
	struct net_list room;
	u8 made[NET_FRAME_MAX]; /* one that is worked on */
};

struct port {
	struct virtio virtio;
	struct net_port net;
	struct net_config config;
	struct lan *segment; /* NULL: not on it */
	unsigned number; /* of the VM's interfaces */
	bool stopped; /* a vCPU has left: no more interrupts */
	u16 pairs; /* that the driver uses */
	struct net_hand {
		bool counted;
		unsigned at; /* how far it has come among the ports, */
		u32 piece; /* and to the next of them, if it is cut */
	} hand[NET_PAIRS]; /* by pair: the frame in hand */
	u8 pair_of[NET_FLOWS]; /* by which the driver has sent last, by net_flow() */
	struct net_counts counts;
	u8 vlans[NET_VLANS / 8]; /* net's, if it knows any */
};

/*
 * virtio_net_send.c: sends what the driver has offered in a queue; true: there is more. Under the
 * segment's lock.
 */
bool net_transmit(struct port *p, unsigned queue);

#endif
