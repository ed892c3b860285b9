/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to vmm/pci: a VM's functions when it has ended: all are reset, at the same time, before others get anything of it. */
#ifndef VMM_PCI_END_H
#define VMM_PCI_END_H

#include "vmm/pci/pci_device.h"
#include "vmm/pci/vm_pci.h"

struct pci_end {
	unsigned count;
	struct pci_end_function {
		struct pci_reset reset;
		int result; /* 0: it has stopped; -EBUSY: it is still asked to; -EIO: it does not stop */
	} of[VM_PCI_FUNCTIONS];
};

/* Begins; no vCPU is in its loop any more. A reset that the guest has begun goes on. */
void pci_end_begin(struct pci_end *e, const struct vm_pci *pci);
/* Goes on, and waits for nothing. False: all have a result. */
bool pci_end_step(struct pci_end *e);

#endif
