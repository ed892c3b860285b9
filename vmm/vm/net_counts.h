/* SPDX-License-Identifier: GPL-2.0-only */
/* What a virtual network interface has counted, for whoever tells of it. */
#ifndef VMM_NET_COUNTS_H
#define VMM_NET_COUNTS_H

#include <margay/types.h>

/* Frames and bytes; large: of these frames, those that were handed over uncut. */
struct net_count {
	u64 frames;
	u64 bytes;
	u64 large;
};

/* Why a frame was lost: two for whom it was for, the others by whom it was sent. */
enum net_drop {
	NET_DROP_NO_BUFFER, /* its driver had offered none, or too small ones */
	NET_DROP_PAUSED,    /* its VM was paused */
	NET_DROP_MALFORMED, /* no frame, or what virtio does not let it ask for */
	NET_DROP_TOO_LARGE, /* larger than the segment's MTU */
	NET_DROP_ADDRESS,   /* from an address that the interface has not */
	NET_DROP_VLAN,      /* of a VLAN that it has not */
	NET_DROPS
};

struct net_counts {
	struct net_count sent;
	struct net_count got;
	u64 drop[NET_DROPS];
};

/* Its word. */
static inline const char *net_drop_name(enum net_drop why)
{
	static const char *const names[NET_DROPS] = {
		[NET_DROP_NO_BUFFER] = "no_buffer",   [NET_DROP_PAUSED] = "paused",
		[NET_DROP_MALFORMED] = "malformed",   [NET_DROP_TOO_LARGE] = "too_large",
		[NET_DROP_ADDRESS] = "wrong_address", [NET_DROP_VLAN] = "wrong_vlan",
	};

	return names[why];
}

#endif
