/* SPDX-License-Identifier: GPL-2.0-only */
/* What the bridges above a function, up to the root, pass on or complete. */
#ifndef KERNEL_PCI_PATH_H
#define KERNEL_PCI_PATH_H

#include "kernel/pci/pci_core.h"

#define PCI_HOPS 16

/* A bridge, as far as it matters here. */
struct pci_hop {
	u16 vendor;
	u16 device;
	u8 type;      /* enum pcie_type; PCIE_TO_PCI also of one without the capability */
	u32 cap2;     /* Device Capabilities 2; 0: of version 1 */
	u16 control2;
};

/*
 * Pure: HOST_PCI_ATOMICS and HOST_PCI_RELAXED (<margay/host_pci.h>), by the bridges, the function's
 * own first.
 */
unsigned pci_path_takes(const struct pci_hop *hop, unsigned count);
/* pci_group.c: the same of a function of the machine. */
unsigned pci_path(const struct pci_function *f);

#endif
