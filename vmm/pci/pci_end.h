/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/pci: a VM's functions when it has ended: all are reset, at the same time, before
 * others get anything of it.
 */
#ifndef VMM_PCI_END_H
#define VMM_PCI_END_H

#include "vmm/pci/pci_device.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slots/slot.h"
#include "vmm/vm.h"

/*
 * A reset takes less, by the standard (PCI Express 6.6.1: a second, and as long for the link): what
 * takes more is seen to later.
 */
#define PCI_END_MS 2200

struct pci_end {
	unsigned count;
	struct pci_end_function {
		struct pci_reset reset;
		/* 0: it has stopped; -EBUSY: it is still asked to; -EIO: it does not stop */
		int result;
		bool lingers; /* it has not stopped in that time */
		/* nothing blocks it: until it has stopped it may write to the VM's memory */
		bool writes;
	} *of; /* by function */
	/* pci_linger.c's, of a VM that is no more: */
	struct host_idle_work idle;
	const struct vm_pci *pci; /* the functions; in one record with this, by vm_pci_free() */
	char name[VM_NAME_MAX + 1];
	unsigned nr_extents; /* of the VM's memory, while something that lingers may write there */
	struct host_extent extent[VM_MAX_EXTENTS];
};

/* Begins; no vCPU is in its loop any more. A reset that the guest has begun goes on. */
void pci_end_begin(struct pci_end *e, const struct vm_pci *pci);
/* Goes on, and waits for nothing. False: all have a result. */
bool pci_end_step(struct pci_end *e);
/* The same until they have, or for that time, where others go on with it. */
void pci_end_wait(struct pci_end *e);

/* pci_root.c: frees the record. */
void pci_root_free(struct pci_end *e);

#endif
