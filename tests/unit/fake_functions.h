/* SPDX-License-Identifier: GPL-2.0-only */
/* What pci_root.c has of a VM's functions, for tests without it. Each user is one VM's. */
#ifndef TESTS_FAKE_FUNCTIONS_H
#define TESTS_FAKE_FUNCTIONS_H

#include <string.h>

#include "vmm/pci/vm_pci.h"

struct fake_functions {
	struct host_pci_function function[VM_PCI_FUNCTIONS];
	struct pci_device *device[VM_PCI_FUNCTIONS];
	struct vm_pci_intx intx[VM_PCI_FUNCTIONS];
	struct vm_pci_line line[VM_PCI_FUNCTIONS];
};

/* Empty ones, in a VM that has none else. */
static inline void fake_functions(struct vm_pci *pci, struct fake_functions *all)
{
	memset(pci, 0, sizeof(*pci));
	memset(all, 0, sizeof(*all));
	pci->function = all->function;
	pci->device = all->device;
	pci->intx = all->intx;
	pci->line = all->line;
}

#endif
