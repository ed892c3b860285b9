/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PCI function is and can do, as the kernel reads it out of its
 * configuration space (kernel/pci/pci_info.h) and the monitor judges it
 * (vmm/pci/pci_report.h). PCI Local Bus 3.0, chapter 6; PCI Express Base 5.0, 7.5.
 */
#ifndef MARGAY_PCI_H
#define MARGAY_PCI_H

#include <margay/pci_regs.h>

/* Where a function is. */
struct pci_address {
	u16 segment;
	u8 bus;
	u8 devfn; /* device << 3 | function */
};

#define PCI_DEVFN(device, function) ((u8)((device) << 3 | (function)))
#define PCI_DEVICE(devfn) ((devfn) >> 3)
#define PCI_FUNCTION(devfn) ((devfn) & 7u)

/* A struct pci_address as printf() takes it: bus:device.function, and with the segment in front. */
#define PCI_FORMAT "%02x:%02x.%u"
#define PCI_FORMAT_ARGS(a) (a).bus, PCI_DEVICE((a).devfn), PCI_FUNCTION((a).devfn)
#define PCI_FULL_FORMAT "%04x:" PCI_FORMAT
#define PCI_FULL_FORMAT_ARGS(a) (a).segment, PCI_FORMAT_ARGS(a)

static inline bool pci_same_address(const struct pci_address *a, const struct pci_address *b)
{
	return a->segment == b->segment && a->bus == b->bus && a->devfn == b->devfn;
}

/* What a function is. */
struct pci_id {
	u16 vendor;
	u16 device;
	u32 class_code; /* class << 16 | subclass << 8 | programming interface */
};

#define PCI_BARS 7 /* the six of a type 0 header, and the expansion ROM's */
#define PCI_ROM_BAR 6

/* As firmware left it. Of a 64-bit one the first register's entry has all, the second's nothing. */
struct pci_bar {
	u64 base; /* 0: none */
	u64 size; /* bytes; 0: there is none, or its size is not known, as of a host bridge */
	u8 flags; /* low bits of the register, PCI_BAR_FLAGS() */
};

static inline bool pci_bar_is_io(const struct pci_bar *b)
{
	return b->flags & PCI_BAR_IO;
}

static inline bool pci_bar_is_64(const struct pci_bar *b)
{
	return (b->flags & PCI_BAR_TYPE) == PCI_BAR_64;
}

/* Registers in memory, or a ROM, at an address. */
static inline bool pci_bar_is_memory(const struct pci_bar *b)
{
	return b->base && b->size && !pci_bar_is_io(b);
}

/* The firmware gave it no address. */
static inline bool pci_bar_lacks_address(const struct pci_bar *b)
{
	return b->size && !b->base;
}

struct pci_cap {
	u16 id;
	bool extended; /* from offset 0x100 on, where IDs are others */
	u16 offset;
};

struct pci_info {
	struct pci_address address;
	struct pci_id id;
	u8 header_type; /* 0 function, 1 bridge, 2 CardBus */
	/* of a bridge */
	u8 secondary_bus;
	u8 subordinate_bus;
	/* the function that names its group: what an IOMMU cannot keep apart (ACS) */
	struct pci_address group;
	u8 pin; /* 1-4: INTA-INTD; 0: none */
	/* known; only in images with PASSTHROUGH */
	bool has_line;
	bool has_node;
	u32 line; /* the I/O APICs' input (global system interrupt) that the pin leads to */
	unsigned node; /* of its root bus */
	struct pci_bar bar[PCI_BARS];
	/* vectors; 0: it has no such capability */
	unsigned msi;
	unsigned msix;

	bool pcie;
	u8 type; /* enum pcie_type, with pcie */
	bool cut_off; /* PCI Express, but offsets from 0x100 on cannot be reached */
	/* function level reset (PCIe or AF); power management */
	bool flr;
	bool pm;
	bool pm_reset; /* D3hot resets it (No_Soft_Reset is 0) */
	bool bus_reset; /* so does its port, below which it is alone */
	bool ats;
	bool pri;
	bool pasid;
	bool acs;
	unsigned vfs; /* SR-IOV: virtual functions that it can have */
	unsigned vfs_on; /* and has */
	/*
	 * what keeps anyone from using it: a broken capability list, BARs that lie wrong; NULL:
	 * nothing
	 */
	const char *problem;
};

#endif
