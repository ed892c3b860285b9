/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A function's reset, step by step: a physical function's virtual ones go before it. See
 * pci_device.h.
 */
#include <margay/errno.h>

#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_sriov.h"

void pci_reset_begin(struct pci_reset *r, unsigned index, bool sriov)
{
	u32 command = host_pci_read(index, PCI_REG_COMMAND, 2);

	/*
	 * Its first step does that, too, but may be far. One that is away reads as ones, which are
	 * not to be written.
	 */
	if (command != 0xffff)
		host_pci_write(index, PCI_REG_COMMAND, 2, command & ~(u32)PCI_COMMAND_MASTER);
	r->sriov = sriov;
	r->since = host_tsc();
	host_pci_reset_begin(&r->host, index);
}

int pci_reset_step(struct pci_reset *r)
{
	if (r->sriov && pci_sriov_off(r->host.index, r->since) == -EBUSY)
		return -EBUSY;
	r->sriov = false;
	return host_pci_reset_step(&r->host);
}
