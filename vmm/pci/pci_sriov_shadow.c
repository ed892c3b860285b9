/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guest of a physical function finds in place of its virtual functions, which are others'.
 */
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/vm_pci.h"

/* The PF of the VM whose VF is there, and on. */
static const struct pci_device *shadow_of(const struct vm_pci *pci, u8 bus, u8 devfn,
					  struct host_pci_function *vf)
{
	if (!pci)
		return NULL;
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		const struct pci_device *d = pci->device[i];
		if (!d->sriov.at || !(d->sriov.control & PCI_SRIOV_ENABLE))
			continue;
		for (unsigned n = 0; n < d->sriov.count; n++) {
			int index = host_sriov_vf(d->host->index, n);

			if (index < 0)
				break;
			if (host_pci_function((unsigned)index, vf) && vf->address.bus == bus &&
			    vf->address.devfn == devfn)
				return d;
		}
	}
	return NULL;
}

bool pci_sriov_shadow(const struct vm_pci *pci, u8 bus, u8 devfn, u16 offset, unsigned size,
		      u32 *value)
{
	struct host_pci_function vf;
	const struct pci_device *d = shadow_of(pci, bus, devfn, &vf);
	u16 at = offset & ~3u;

	if (!d)
		return false;
	/* As VFs have it, no vendor. The class is the PF's, all else is none. */
	*value = at == PCI_REG_ID ? ~0u : 0;
	if (at == PCI_REG_CLASS)
		*value = host_pci_read(d->host->index, at, 4);
	*value >>= (offset & 3) * 8;
	*value = size == 4 ? *value : *value & (u32)(BIT(size * 8) - 1);
	return true;
}
