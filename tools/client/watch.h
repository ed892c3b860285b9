/* SPDX-License-Identifier: GPL-2.0-only */
/* One process looks at the node for all who wait (watch.c): what they say to it, and it to them. */
#ifndef MARGAY_WATCH_H
#define MARGAY_WATCH_H

/*
 * A Unix stream socket. Who waits writes the VM's name and a newline, and reads: a byte when it is
 * looked at from now on, and one whenever its state, its starts or its last end has changed since.
 * That process may end at any time.
 */
#define WATCH_SOCKET "/run/margay/watch.sock"
#define WATCH_VARIABLE "MARGAY_WATCH" /* of the environment: another path; empty: none */

/* Is the VM looked at? The socket, or -1: there is nobody. */
int watch_connect(const char *vm);

#endif
