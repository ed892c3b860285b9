/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a device's NMI come? Where a line leads, firmware's tables say, and habit: neither is relied
 * on untried.
 */
#ifndef KERNEL_NMI_TRY_H
#define KERNEL_NMI_TRY_H

#include <margay/types.h>

/*
 * At boot, on the boot CPU, after nmi_request(): ask(true) has the device interrupt at once,
 * ask(false) ends that, the line is low then. True: an NMI came each time.
 */
bool nmi_comes(void (*ask)(bool on));

#endif
