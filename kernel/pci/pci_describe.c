/* SPDX-License-Identifier: GPL-2.0-only */
/* All that is told of a function: host_pci_info(). */
#include <margay/host.h>
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"
#include "kernel/pci/pci_info.h"

static void add_place(unsigned i, struct pci_info *out)
{
	struct host_intx line;
	int node = pci_node(pci_get(i));

	out->has_node = node >= 0;
	out->node = out->has_node ? (unsigned)node : 0;
	out->has_line = !host_intx_route(i, &line);
	out->line = out->has_line ? line.gsi : 0;
}

bool host_pci_info(unsigned i, struct pci_info *out)
{
	const struct pci_function *f = pci_get(i);
	struct pcicap_reader reader;

	if (!f)
		return false;
	reader = pci_reader(f);
	*out = (struct pci_info){
		.address = f->address,
		.id = f->id,
		.group = pci_group(f),
		.header_type = f->header_type,
		.secondary_bus = f->secondary_bus,
		.subordinate_bus = f->subordinate_bus,
		.bus_reset = pci_own_port(f),
	};
	add_place(i, out);
	pci_bars(f, out->bar);
	pciinfo_read(&reader, out);
	pci_correct_resets(out);
	if (!out->problem && f->restless)
		out->problem =
			"it did not stop at boot, and writes to memory perhaps: the log has a line of it";
	if (!out->problem)
		out->problem = pci_misplaced(f);
	return true;
}
