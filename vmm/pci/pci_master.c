/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bus mastering with `dma = window`: a function is silent until its guest has
 * said that what it gives this function goes through the windows (abi.h), for
 * otherwise it would write to memory that is not the guest's.
 */
#include <margay/errno.h>

#include "vmm/memory/shootdown.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"

int pci_master_confirm(struct vcpu *vcpu, u16 bdf, bool on)
{
	struct vm_pci *pci = vcpu->vm->pci;

	for (unsigned i = 0; i < pci->nr_functions; i++) {
		if (pci->function[i].address.bus != bdf >> 8 ||
		    pci->function[i].address.devfn != (bdf & 0xff))
			continue;
		vm_stage2_lock(vcpu);
		/* Also of one that is being reset, which has no registers now. */
		pci->device[i]->gated =
			!on || vcpu->vm->end != VM_RUNNING || vm_pci_is_silent(pci, i);
		pci_config_gate_master(&pci->device[i]->config, pci->device[i]->gated);
		vm_stage2_unlock(vcpu->vm);
		return 0;
	}
	return -ENODEV;
}

void pci_silence(struct vcpu *vcpu)
{
	struct vm_pci *pci = vcpu->vm->pci;

	pci_intx_close(pci);
	vm_stage2_lock(vcpu);
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		pci_config_gate_master(&pci->device[i]->config, true);
		/*
		 * The answer comes behind messages that were under way (PCI Express Base 5.0,
		 * 2.4.1).
		 */
		(void)host_pci_read(pci->function[i].index, PCI_REG_COMMAND, 2);
	}
	vm_stage2_unlock(vcpu->vm);
}

void pci_master_create(struct pci_device *d)
{
	if (d->vm->config->dma == VM_DMA_WINDOW)
		pci_config_gate_master(&d->config, true);
}

void pci_master_tell(const struct pci_device *d)
{
	if (d->vm->pci->told || !pci_config_master_waits(&d->config))
		return;
	d->vm->pci->told = true;
	vm_log(d->vm,
	       "pci: " PCI_FORMAT
	       " stays silent: with dma = window its guest must load margay-guest before the driver "
	       "(docs/passthrough.md)",
	       PCI_FORMAT_ARGS(d->host->address));
}
