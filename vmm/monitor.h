/* SPDX-License-Identifier: GPL-2.0-only */
/* The monitor's one entry from the kernel. */
#ifndef VMM_MONITOR_H
#define VMM_MONITOR_H

/*
 * Chooses the hardware backend, reads the VM files among the boot modules,
 * makes the VMs and hands their vCPUs to CPUs as work. On the boot CPU,
 * interrupts off; the vCPUs run once it has returned to the work loop.
 */
void monitor_start(void);

#endif
