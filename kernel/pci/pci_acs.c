/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an IOMMU needs of the way to it: pci_isolate() in pci_function.h, pci_conventional() in
 * pci_core.h.
 */
#include "kernel/pci/pci_function.h"

bool pci_isolating;

void pci_isolate(const struct pci_function *f)
{
	u16 acs = pci_find_extended_cap(f, PCI_EXT_CAP_ACS);

	pci_isolating = true;
	if (acs)
		pci_change16(f, (u16)(acs + PCI_ACS_CONTROL), 0,
			     pci_read(f->address, (u16)(acs + PCI_ACS_CAPABILITIES), 2) &
				     PCI_ACS_ISOLATION);
}

bool pci_conventional(const struct pci_function *f)
{
	for (f = pci_bridge_of(f); f; f = pci_bridge_of(f)) {
		u16 exp = pci_find_cap(f, PCI_CAP_EXP);
		unsigned type =
			exp ? PCI_EXP_TYPE(pci_read(f->address, exp + PCI_EXP_CAPABILITIES, 2))
			    : PCIE_TO_PCI;

		if (type == PCIE_TO_PCI || type == PCI_TO_PCIE)
			return true;
	}
	return false;
}
