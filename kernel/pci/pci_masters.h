/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of DMA that firmware left running, in each image: what a card writes, to rings of UEFI's
 * driver for it, would land in memory that is somebody else's now. The rest of what keeps functions
 * quiet is pci_keep_quiet(), where functions are known.
 */
#ifndef KERNEL_PCI_MASTERS_H
#define KERNEL_PCI_MASTERS_H

#include <margay/types.h>

/*
 * Switches bus mastering off in all functions of segment 0, before any memory is given to anyone:
 * by mechanism 1, which needs none. Left alone are those that serve others (pci_serves_others()),
 * displays, whose picture may come from memory, and USB controllers, which must be taken from
 * firmware first (pci_usb.c): UEFI stops its own as it ends (EDK II's drivers do at
 * ExitBootServices), and those that SMM drives have memory of the firmware's. Logs how many there
 * were.
 */
void pci_masters_off(void);

/*
 * Bridges, and system devices without which the machine does not run: interrupt controllers,
 * timers, clocks, hot plug, IOMMUs.
 */
bool pci_serves_others(u8 header_type, u32 class_code);

#endif
