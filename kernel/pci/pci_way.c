/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM's function sends, memory requests and messages of interrupts, passes a bridge only
 * while that is a bus master (PCI-to-PCI Bridge 1.2, 3.2.5.3; PCI Express Base 5.0, 7.5.1.1.3),
 * which firmware need not have made it.
 */
#include <margay/host.h>
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"

void host_pci_open_way(unsigned index)
{
	for (const struct pci_function *b = pci_bridge_of(pci_get(index)); b;
	     b = pci_bridge_of(b)) {
		if (pci_read(b->address, PCI_REG_COMMAND, 2) & PCI_COMMAND_MASTER)
			continue;
		pci_change16(b, PCI_REG_COMMAND, 0, PCI_COMMAND_MASTER);
		printk("pci " PCI_FULL_FORMAT ": bus mastering on, for what a VM has behind it",
		       PCI_FULL_FORMAT_ARGS(b->address));
	}
}
