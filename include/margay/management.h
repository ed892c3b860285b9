/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol between the node and the management VM (docs/management-vm.md), for both sides:
 * messages on ports of a virtio console. A request is one write of the guest's, header and all; an
 * answer may come in any pieces. All is little-endian.
 */
#ifndef MARGAY_MANAGEMENT_H
#define MARGAY_MANAGEMENT_H

#include <margay/types.h>

#define MANAGEMENT_MAGIC 0x5947524du /* "MRGY" */
#define MANAGEMENT_VERSION 1u
#define MANAGEMENT_MAX 32768u /* bytes of a message with its header */
#define MANAGEMENT_TYPED 256u /* bytes that one request types: more is not taken at once */
#define MANAGEMENT_PORTS 4u   /* so many speak at once: "margay.0" and so on */

struct management_message {
	u32 magic;
	u16 version;
	u16 what; /* an enum management_request; in an answer 0, or an error number of Linux' */
	u32 tag;  /* the request's; its answer has the same */
	u32 size; /* bytes that follow: text without a terminator, or data */
};
static_assert(sizeof(struct management_message) == 16, "docs/management-vm.md");

/* Numbers are never used for something else. */
enum management_request {
	MANAGEMENT_HELLO = 1,
	MANAGEMENT_LIST,
	MANAGEMENT_SHOW,
	MANAGEMENT_NODE,
	MANAGEMENT_PCI,
	MANAGEMENT_LOG,
	MANAGEMENT_STATS,
	MANAGEMENT_CREATE,
	MANAGEMENT_DESTROY,
	MANAGEMENT_START,
	MANAGEMENT_STOP,
	MANAGEMENT_RESTART,
	MANAGEMENT_PAUSE,
	MANAGEMENT_RESUME,
	MANAGEMENT_READ,
	MANAGEMENT_WRITE,
	MANAGEMENT_IMAGES,
	MANAGEMENT_IMAGE,
	MANAGEMENT_DATA,
	MANAGEMENT_IMAGE_END,
	MANAGEMENT_IMAGE_REMOVE,
	MANAGEMENT_DUMP,
	MANAGEMENT_REGISTERS,
	MANAGEMENT_MEMORY,
	MANAGEMENT_PRESS,
	MANAGEMENT_NMI,
	MANAGEMENT_FILE,
	MANAGEMENT_COUNTS,
	MANAGEMENT_LOG_FROM,
	MANAGEMENT_EVENTS,
	MANAGEMENT_NET,
	MANAGEMENT_REQUESTS,
};

#endif
