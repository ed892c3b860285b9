/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: walks a PCI function's standard and extended capability lists
 * (PCI Local Bus 3.0, 6.7; PCI Express Base 5.0, 7.6.3). Hostile or broken
 * lists that loop, or point outside their space, end the walk.
 */
#ifndef KERNEL_PCICAP_H
#define KERNEL_PCICAP_H

#include <margay/types.h>

/* Reads an aligned 32-bit register of the function's configuration space. */
struct pcicap_reader {
	u32 (*read32)(void *ctx, u16 offset);
	void *ctx;
	bool extended; /* offsets 0x100-0xfff are readable */
};

struct pcicap {
	u16 id;
	u8 version;    /* extended ones only */
	bool extended;
	u16 offset;
};

enum {
	PCI_CAP_PM = 0x01, PCI_CAP_MSI = 0x05, PCI_CAP_EXP = 0x10, PCI_CAP_MSIX = 0x11, PCI_CAP_AF = 0x13,
	PCI_EXT_CAP_AER = 0x01, PCI_EXT_CAP_ACS = 0x0d, PCI_EXT_CAP_ARI = 0x0e, PCI_EXT_CAP_ATS = 0x0f,
	PCI_EXT_CAP_SRIOV = 0x10, PCI_EXT_CAP_PRI = 0x13, PCI_EXT_CAP_PASID = 0x1b,
};

/*
 * Fills cap[] with up to `max` capabilities, standard ones first, in list
 * order; returns how many there are. *problem (may be NULL): NULL, or why a
 * list was cut.
 */
unsigned pcicap_walk(const struct pcicap_reader *reader, struct pcicap *cap, unsigned max, const char **problem);

/* Offset of a capability, or 0. */
u16 pcicap_find(const struct pcicap_reader *reader, u16 id, bool extended);

#endif
