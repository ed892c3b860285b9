/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a physical function (PF) says of its virtual ones (VFs) in
 * its SR-IOV capability (PCI Express Base 5.0, 9.3.3): how many, where they
 * are, and how large their BARs. VFs are counted from 0, as Linux does; the
 * specification begins with 1.
 */
#ifndef KERNEL_PCI_SRIOV_CAP_H
#define KERNEL_PCI_SRIOV_CAP_H

#include <margay/pci.h>
#include "kernel/pci/pci_cap.h"

struct sriov {
	u16 at;             /* of the capability */
	u16 total;          /* VFs that it can have */
	/* of the requester IDs: from the PF's to the first VF's, from one to the next */
	u16 offset;
	u16 stride;
	u16 device;         /* device ID of its VFs */
	struct pci_bar bar[PCI_ROM_BAR]; /* of one VF; base: where the first one's is, 0: nowhere */
};

/*
 * Reads the capability at `at`. With write(), for which no VF may be on, it asks for the sizes of
 * the BARs, and what was in their registers is there again afterwards. NULL, or why its VFs cannot
 * be used, in words.
 */
const char *sriov_read(const struct pcicap_reader *reader,
		       void (*write)(void *ctx, u16 offset, u32 value), u16 at, struct sriov *out);

/* Where VF n of the PF is; false: beyond the last bus there can be. */
bool sriov_address(const struct sriov *s, const struct pci_address *pf, unsigned n,
		   struct pci_address *out);

/*
 * Why the PF cannot have VFs 0 to count - 1, in words; last_bus: the highest that leads to it, the
 * subordinate one of the bridge above. NULL: it can.
 */
const char *sriov_unfit(const struct sriov *s, const struct pci_address *pf, unsigned count,
			u8 last_bus);

/* Sets the BARs of VF n, of those of the first. */
void sriov_bars(const struct sriov *s, unsigned n, struct pci_bar bar[PCI_BARS]);

#endif
