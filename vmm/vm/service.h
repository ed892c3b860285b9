/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of the monitor that nothing else knows: each registers the function
 * that starts it, once, on the boot CPU, when the VM files have been read and
 * no VM runs yet. What is not linked in is not there.
 */
#ifndef VMM_SERVICE_H
#define VMM_SERVICE_H

#include <margay/types.h>

/* Starts all of them. */
void services_start(void);

#define MONITOR_SERVICE(fn) \
	static void (*const fn##_service)(void) __used __section("monitor_services") = (fn)

#endif
