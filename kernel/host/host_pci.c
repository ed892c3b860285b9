/* SPDX-License-Identifier: GPL-2.0-only */
/* What vmm/host.h says of PCI, over the kernel: as kernel/host/host.c. */
#include <margay/string.h>
#include "kernel/pci/pci.h"
#include "kernel/pci/pci_route.h"
#include "vmm/host.h"

static_assert(HOST_PCI_FUNCTIONS == PCI_MAX_FUNCTIONS, "one limit");

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	const struct pci_function *f = pci_get(i);

	if (!f)
		return false;
	*out = (struct host_pci_function){
		.index = i, .address = f->address, .id = f->id, .extended = f->extended, .node = pci_node(f),
	};
	memcpy(out->bar, f->bar, sizeof(out->bar));
	return true;
}
