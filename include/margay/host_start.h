/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How whoever works above the kernel begins: it registers a function, which the kernel knows of by
 * its section alone.
 */
#ifndef MARGAY_HOST_START_H
#define MARGAY_HOST_START_H

#include <margay/types.h>

/*
 * void fn(void) is called once on the boot CPU, interrupts off, when the kernel is ready. It hands
 * work items to CPUs and returns; the CPUs, the boot CPU among them, then run them.
 */
#define HOST_START(fn) static void (*const fn##_entry)(void) __used __section("host_starts") = (fn)

#endif
