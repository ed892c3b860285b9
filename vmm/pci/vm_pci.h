/* SPDX-License-Identifier: GPL-2.0-only */
/* What the core knows of a VM's PCI functions: made by vmm/pci/pci_root.c, shown in the ACPI tables. */
#ifndef VMM_VM_PCI_H
#define VMM_VM_PCI_H

#include <margay/host.h>
#include "vmm/config/config.h"

#define VM_PCI_FUNCTIONS 16

struct pci_device;
struct vm;

struct vm_pci {
	bool ecam;       /* there is one, where the host has it */
	u8 last_bus;
	u64 ecam_base;
	unsigned nr_functions;
	struct host_pci_function function[VM_PCI_FUNCTIONS];
	struct pci_device *device[VM_PCI_FUNCTIONS]; /* pci_device.h */
	/* Only in images with IOMMU. */
	struct host_iommu *iommu; /* what its functions reach; NULL: everything */
	unsigned attached;        /* so many of them are, from the first on */
	bool stuck;               /* one could not be detached */
	bool told; /* that functions wait for their guest to confirm its DMA windows */
	/* Line interrupts: line n is the guest's interrupt GUEST_INTX_GSI + n. */
	unsigned nr_lines;
	struct vm_pci_line {
		struct vm *vm;
		unsigned n;
		u32 gsi; /* the host's */
	} line[VM_PCI_FUNCTIONS];
	struct {
		u8 pin; /* 0: INTA */
		s8 line; /* -1: no line interrupt */
	} intx[VM_PCI_FUNCTIONS]; /* by function */
};

bool vm_pci_line_only(const struct vm_config *config); /* pci_assign.c: has one of its functions nothing but a line interrupt? */

/* The name of the VM that has the i-th function of the machine, into name[]; false: none has it. From any CPU. */
#if IS_ENABLED(CONFIG_PASSTHROUGH)
bool vm_pci_owner(unsigned i, char name[VM_NAME_MAX + 1]);
#else
static inline bool vm_pci_owner(unsigned, char[VM_NAME_MAX + 1])
{
	return false;
}
#endif

#endif
