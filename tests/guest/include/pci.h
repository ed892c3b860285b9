/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PCI by configuration mechanism 1 (PCI Local Bus 3.0, 3.2.2.3.2), and QEMU's device for teaching,
 * edu (its docs/specs/edu.rst).
 */
#ifndef TINY_PCI_H
#define TINY_PCI_H

#include "cpu.h"

/* bdf: bus << 8 | device << 3 | function. */
static inline u32 pci_read(u32 bdf, u32 offset)
{
	outl(0xcf8, 1u << 31 | bdf << 8 | (offset & 0xfc));
	return inl(0xcfc);
}

static inline void pci_write(u32 bdf, u32 offset, u32 value)
{
	outl(0xcf8, 1u << 31 | bdf << 8 | (offset & 0xfc));
	outl(0xcfc, value);
}

/* The first function on bus 0 with these IDs (device << 16 | vendor); 0: none. */
static inline u32 pci_find(u32 ids)
{
	for (u32 bdf = 1; bdf < 256; bdf++)
		if (pci_read(bdf, 0) == ids)
			return bdf;
	return 0;
}

/* Where a function's capability of this ID begins; 0: it has none. */
static inline u32 pci_find_cap(u32 bdf, u8 id)
{
	for (u32 at = pci_read(bdf, 0x34) & 0xfc, n = 0; at && n < 48;
	     at = pci_read(bdf, at) >> 8 & 0xfc, n++)
		if ((pci_read(bdf, at) & 0xff) == id)
			return at;
	return 0;
}

enum { PCI_CAP_MSI = 0x05, PCI_CAP_EXPRESS = 0x10, PCI_CAP_MSIX = 0x11 };

#define EDU_IDS 0x11e81234u

enum edu_reg {
	EDU_ID = 0x00,
	EDU_LIVE = 0x04,
	EDU_RAISE = 0x60,
	EDU_ACK = 0x64,
	EDU_DMA_FROM = 0x80,
	EDU_DMA_TO = 0x88,
	EDU_DMA_COUNT = 0x90,
	EDU_DMA_COMMAND = 0x98,
};
#define EDU_BUFFER 0x40000 /* of 4 KiB, at this address of its own */
enum { EDU_DMA_START = 1, EDU_DMA_TO_RAM = 2 };

#endif
