/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: pci_config_path() of pci_config.h. PCI Express Base 5.0, 7.5.3.4, 7.5.3.16. */
#include <margay/host_pci.h>
#include "vmm/pci/pci_config.h"

/* The guest reads what the device has. */
static void deny(struct pci_config *c, unsigned offset, u32 bit)
{
	for (unsigned i = 0; c->express && i < c->nr_fields; i++)
		if (c->field[i].rule.offset == c->express + offset)
			c->field[i].rule.write &= ~bit;
}

void pci_config_path(struct pci_config *c, unsigned takes)
{
	if (!(takes & HOST_PCI_RELAXED))
		deny(c, PCI_EXP_DEVICE_CONTROL, PCI_EXP_RELAXED);
	if (!(takes & HOST_PCI_ATOMICS))
		deny(c, PCI_EXP_DEVICE_CONTROL2, PCI_EXP_ATOMICS);
}
