/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The serial line that gdb= on the command line names; <margay/host.h> has what it does for the
 * monitor.
 */
#ifndef KERNEL_GDB_PORT_H
#define KERNEL_GDB_PORT_H

#include "kernel/boot/cmdline.h"

#if IS_ENABLED(CONFIG_GDB)
/*
 * Finds the port; one that cannot be had is one line in the log. The command line stays. nmi_comes:
 * that of kernel/work/nmi_try.h, which stands above this room; host_debug_listen() asks it.
 */
void gdb_port_init(const struct cmdline *cmdline, bool (*nmi_comes)(void (*ask)(bool on)));
#else
static inline void gdb_port_init(const struct cmdline *, bool (*)(void (*)(bool))) { }
#endif

#endif
