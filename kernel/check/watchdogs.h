/* SPDX-License-Identifier: GPL-2.0-only */
/* What host_watchdogs() has from others. */
#ifndef KERNEL_CHECK_WATCHDOGS_H
#define KERNEL_CHECK_WATCHDOGS_H

#include <margay/host.h>

/* watchdog_bmc.c. False: firmware tells of no BMC. */
bool watchdog_bmc(struct host_watchdog *w);

#endif
