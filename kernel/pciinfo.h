/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: struct pci_info out of a function's configuration space: BARs
 * (PCI Local Bus 3.0, 6.2.5), interrupts (6.8), resets and what PCI Express
 * adds (PCI Express Base 5.0, 7.5.3, 9.3.3; AF: PCI ECN Advanced Capabilities).
 */
#ifndef KERNEL_PCIINFO_H
#define KERNEL_PCIINFO_H

#include <margay/pci.h>
#include "kernel/pcicap.h"

/*
 * Fills everything of *out but address, IDs, class, header type and buses, which
 * the caller has set. write32: NULL, and sizes stay 0; else BARs are sized, for
 * which the function decodes no address for a moment: nobody may use it. What
 * was in its registers is there again afterwards. Bridges to the host are left alone.
 */
void pciinfo_read(const struct pcicap_reader *reader, void (*write32)(void *ctx, u16 offset, u32 value),
		  struct pci_info *out);

#endif
