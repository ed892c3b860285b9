/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headers in a guest's configuration space without anything behind them: the host bridge at
 * 00:00.0, by which kernels know configuration space, and a function 0 where a device has others,
 * for nobody looks at these without it.
 */
#ifndef VMM_PCI_STAND_IN_H
#define VMM_PCI_STAND_IN_H

#include "vmm/pci/vm_pci.h"

struct pci_stand_ins {
	unsigned count;
	struct pci_stand_in {
		u8 bus;
		u8 devfn;
		u32 id;
		u32 class_revision;
		u32 header;
		u32 subsystem;
	} of[VM_PCI_FUNCTIONS + 1];
};

/* Those that a VM with these functions needs, of the host's functions there. At creation. */
void pci_stand_ins(const struct vm_pci *pci, struct pci_stand_ins *out);

/* What the guest reads there; ones where there is none. */
u32 pci_stand_in_read(const struct pci_stand_ins *all, u8 bus, u8 devfn, u16 offset, unsigned size);

#endif
