/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol between the node and the VM that commands it (docs/management-vm.md), for both
 * sides: messages on ports of a virtio console. A request is one write of the guest's, header and
 * all; an answer may come in any pieces. All is little-endian.
 */
#ifndef MARGAY_COMMANDER_H
#define MARGAY_COMMANDER_H

#include <margay/types.h>

#define COMMANDER_MAGIC 0x5947524du /* "MRGY" */
#define COMMANDER_VERSION 1u
#define COMMANDER_MAX 32768u /* bytes of a message with its header */
#define COMMANDER_TYPED 256u /* bytes that one request types: more is not taken at once */
#define COMMANDER_PORTS 4u   /* so many speak at once: "margay.0" and so on */

struct commander_message {
	u32 magic;
	u16 version;
	u16 what; /* an enum commander_request; in an answer 0, or an error number of Linux' */
	u32 tag;  /* the request's; its answer has the same */
	u32 size; /* bytes that follow: text without a terminator, or data */
};
static_assert(sizeof(struct commander_message) == 16, "docs/management-vm.md");

/* Numbers are never used for something else. */
enum commander_request {
	COMMANDER_HELLO = 1,
	COMMANDER_LIST,
	COMMANDER_SHOW,
	COMMANDER_NODE,
	COMMANDER_PCI,
	COMMANDER_LOG,
	COMMANDER_STATS,
	COMMANDER_CREATE,
	COMMANDER_DESTROY,
	COMMANDER_START,
	COMMANDER_STOP,
	COMMANDER_RESTART,
	COMMANDER_PAUSE,
	COMMANDER_RESUME,
	COMMANDER_READ,
	COMMANDER_WRITE,
	COMMANDER_IMAGES,
	COMMANDER_IMAGE,
	COMMANDER_DATA,
	COMMANDER_IMAGE_END,
	COMMANDER_IMAGE_REMOVE,
	COMMANDER_DUMP,
	COMMANDER_REGISTERS,
	COMMANDER_MEMORY,
	COMMANDER_PRESS,
	COMMANDER_NMI,
	COMMANDER_FILE,
	COMMANDER_COUNTS,
	COMMANDER_LOG_FROM,
	COMMANDER_EVENTS,
	COMMANDER_REQUESTS,
};

#endif
