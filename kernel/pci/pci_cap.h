/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: walks a PCI function's standard and extended capability lists
 * (PCI Local Bus 3.0, 6.7; PCI Express Base 5.0, 7.6.3). Hostile or broken
 * lists that loop, or point outside their space, end the walk.
 */
#ifndef KERNEL_PCI_CAP_H
#define KERNEL_PCI_CAP_H

#include <margay/pci.h>

/* Reads an aligned 32-bit register of the function's configuration space. */
struct pcicap_reader {
	u32 (*read32)(void *ctx, u16 offset);
	void *ctx;
	bool extended; /* offsets 0x100-0xfff are readable */
};

/*
 * Fills cap[] with up to `max` capabilities, standard ones first, in list
 * order; returns how many there are. *problem (may be NULL): NULL, or why a
 * list was cut.
 */
unsigned pcicap_walk(const struct pcicap_reader *reader, struct pci_cap *cap, unsigned max,
		     const char **problem);

/* Offset of a capability, or 0. */
u16 pcicap_find(const struct pcicap_reader *reader, u16 id, bool extended);

#endif
