/* SPDX-License-Identifier: GPL-2.0-only */
/* The node in lines of text, for the monitor console and the hardware check. */
#ifndef VMM_REPORT_H
#define VMM_REPORT_H

#include <margay/types.h>

typedef void (*report_say)(const char *fmt, ...) __printf(1, 2);

/* CPUs and who has them, memory of each NUMA node, the hypervisor's own. */
void report_node(report_say say);

/*
 * Every PCI function: class, BARs, capabilities, NUMA node, group, fitness for a VM, and who has
 * it.
 */
void report_pci(report_say say);

#endif
