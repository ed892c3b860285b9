/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module, data only: what of a PCI function's configuration space a guest sees and changes
 * (docs/passthrough.md).
 */
#ifndef VMM_PCI_RULES_H
#define VMM_PCI_RULES_H

#include <margay/types.h>

/* What happens to the dwords of an area that have no rule of their own. */
enum pci_area {
	PCI_AREA_DIRECT, /* the device's: read and written */
	PCI_AREA_READ, /* the device's, writes vanish */
	PCI_AREA_HIDDEN, /* zeros; a capability is not in the list */
};

/*
 * One dword. Bits that are in none of these read as zero and are not written.
 * What is in `pass` is read from the device, what is in `write` is written to
 * it, with zeros for those of `clear` (write one to clear) that the guest does
 * not write. `keep` is the guest's own: it reads what it has written, at first
 * what the device has.
 */
struct pci_rule {
	u16 offset; /* within the capability */
	u32 pass;
	u32 write;
	u32 clear;
	u32 keep;
};

struct pci_cap_rule {
	u16 id;
	bool extended;
	enum pci_area area;
	u16 size; /* bytes; 0: it says so itself, or up to the next one */
	u8 nr_rules;
	const struct pci_rule *rules;
};

extern const struct pci_rule pci_header_rules[];
extern const unsigned pci_nr_header_rules;

/* The rule for a capability; unknown ones are read only. */
const struct pci_cap_rule *pci_cap_rule(u16 id, bool extended);

#endif
