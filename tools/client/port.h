/* SPDX-License-Identifier: GPL-2.0-only */
/* The ports to the node, of which there are MANAGEMENT_PORTS: one program has one at a time. */
#ifndef MARGAY_PORT_H
#define MARGAY_PORT_H

#include <stddef.h>

/* Are there any that may be opened? 0: no, and why in error[size]. */
int port_there(char *error, size_t size);
/*
 * One that is free, for close(): waits for it a while. -1, errno: EBUSY: all of them stay in use.
 */
int port_open(void);

#endif
