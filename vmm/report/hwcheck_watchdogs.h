/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hardware check says of one of the machine's watchdogs. */
#ifndef VMM_HWCHECK_WATCHDOGS_H
#define VMM_HWCHECK_WATCHDOGS_H

#include <margay/types.h>

struct host_watchdog;

void hwcheck_watchdog(const struct host_watchdog *w, char *text, size_t size);

#endif
