/* SPDX-License-Identifier: GPL-2.0-only */
/* What <margay/host.h> says of PCI, over the kernel: as kernel/host/host.c. */
#include <margay/host.h>
#include "kernel/pci/pci.h"
#include "kernel/pci/pci_route.h"

static_assert(HOST_PCI_FUNCTIONS == PCI_MAX_FUNCTIONS, "one limit");

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	const struct pci_function *f = pci_get(i);

	if (!f)
		return false;
	*out = (struct host_pci_function){
		.index = i, .segment = f->address.segment, .bus = f->address.bus, .devfn = f->address.devfn,
		.vendor = f->vendor, .device = f->device, .class_code = f->class_code, .extended = f->extended,
		.node = pci_node(f),
	};
	static_assert(HOST_PCI_BARS == PCI_INFO_BARS, "the same");
	for (unsigned k = 0; k < HOST_PCI_BARS; k++) {
		out->bar[k].base = f->bar[k].base;
		out->bar[k].size = f->bar[k].size;
		out->bar[k].flags = f->bar[k].flags;
	}
	return true;
}
