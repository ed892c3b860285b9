/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: struct pci_info out of a function's configuration space: BARs
 * (PCI Local Bus 3.0, 6.2.5), interrupts (6.8), resets and what PCI Express
 * adds (PCI Express Base 5.0, 7.5.3, 9.3.3; AF: PCI ECN Advanced Capabilities).
 */
#ifndef KERNEL_PCI_INFO_H
#define KERNEL_PCI_INFO_H

#include <margay/pci.h>
#include "kernel/pci/pci_cap.h"

#if IS_ENABLED(CONFIG_PCI_INFO)
/*
 * Reads the BARs of a function with this header type and class, and asks for
 * their sizes, for which it decodes no address for a moment: nobody may use it.
 * What was in its registers is there again afterwards. Bridges to the host are
 * only read. bar[]: zeroed by the caller.
 */
void pciinfo_bars(const struct pcicap_reader *reader,
		  void (*write)(void *ctx, u16 offset, u32 value), u8 header_type, u32 class_code,
		  struct pci_bar bar[PCI_BARS]);
#else
/* Nobody asks for them. */
static inline void pciinfo_bars(const struct pcicap_reader *, void (*)(void *, u16, u32), u8, u32,
				struct pci_bar[PCI_BARS])
{
}
#endif

/*
 * One BAR, whose register is at `at`, the last of its header or not; without write() not its size.
 * How many registers it takes: 2 of 64 bits. *bar: zeroed.
 */
unsigned pciinfo_bar(const struct pcicap_reader *reader,
		     void (*write)(void *ctx, u16 offset, u32 value), u16 at, bool last,
		     struct pci_bar *bar);

/*
 * Fills everything of *out but address, IDs, class, header type, buses and BARs, which the caller
 * has set.
 */
void pciinfo_read(const struct pcicap_reader *reader, struct pci_info *out);

#endif
