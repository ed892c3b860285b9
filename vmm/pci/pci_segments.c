/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See pci_segments.h. PCI Firmware 3.2, 4.1.2: firmware makes the segments, and some lets its setup
 * say how many.
 */
#include "vmm/pci/pci_segments.h"

#include <margay/host.h>
#include <margay/string.h>
#include "vmm/pci/pci_fitness.h"
#include "vmm/vm/service.h"

#define NAMES 150
#define MORE ", ..."

/* What would be fit with another segment, so no bridge and no system device. */
static bool is_lost(struct pci_info *f)
{
	bool beyond = f->address.segment;

	f->address.segment = 0;
	return beyond && !pci_unfit(f);
}

/* How many there are; in names their addresses, ", ..." for those that do not fit. */
static unsigned list_lost(char names[NAMES])
{
	unsigned count = 0;
	bool full = false;
	struct pci_info f;
	size_t n = 0;

	for (unsigned i = 0; host_pci_info(i, &f); i++) {
		struct pci_address at = f.address;
		char one[24];
		size_t length;

		if (!is_lost(&f))
			continue;
		length = (size_t)snprintf(one, sizeof(one), "%s" PCI_FULL_FORMAT,
					  count++ ? ", " : "", PCI_FULL_FORMAT_ARGS(at));
		full = n + length + sizeof(MORE) > NAMES;
		if (full)
			continue;
		memcpy(names + n, one, length);
		n += length;
	}
	snprintf(names + n, NAMES - n, "%s", full ? MORE : "");
	return count;
}

bool pci_segments(char text[PCI_SEGMENTS_TEXT])
{
	char names[NAMES];
	unsigned count = list_lost(names);

	text[0] = 0;
	if (count)
		snprintf(
			text, PCI_SEGMENTS_TEXT,
			"no VM can have %u functions outside segment 0: %s: let the setup put all in one segment",
			count, names);
	return !count;
}

static void tell(void)
{
	char text[PCI_SEGMENTS_TEXT];

	if (!pci_segments(text))
		host_log("margay: pci: %s", text);
}
MONITOR_SERVICE(tell);
