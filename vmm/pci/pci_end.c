/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_end.h. */
#include "vmm/pci/pci_end.h"
#include "vmm/pci/pci_sriov.h"

#include <margay/errno.h>

void pci_end_begin(struct pci_end *e, const struct vm_pci *pci)
{
	e->count = pci->nr_functions;
	e->pci = pci;
	for (unsigned i = 0; i < e->count; i++) {
		struct pci_device *d = pci->device[i];

		if (d && (d->busy == PCI_RESETS || d->busy == PCI_LEAVES))
			e->of[i].reset = d->reset;
		else
			pci_reset_begin(&e->of[i].reset, pci->function[i].index,
					pci_sriov_close(d));
		e->of[i].reset.host.decodes = true;
		e->of[i].result = -EBUSY;
	}
}

bool pci_end_step(struct pci_end *e)
{
	bool left = false;

	for (unsigned i = 0; i < e->count; i++) {
		struct pci_end_function *f = &e->of[i];

		if (f->result == -EBUSY)
			f->result = pci_reset_step(&f->reset);
		/* Without a reset it is quiet. */
		if (f->result == -ENODEV)
			f->result = 0;
		left = left || f->result == -EBUSY;
	}
	return left;
}

void pci_end_wait(struct pci_end *e)
{
	u64 since = host_tsc();

	while (pci_end_step(e) && (!SLOTS_WAIT || host_tsc() - since < PCI_END_MS * host_tsc_khz()))
		host_interrupt_window();
	for (unsigned i = 0; i < e->count; i++)
		e->of[i].lingers = e->of[i].result == -EBUSY;
}
