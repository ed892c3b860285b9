/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the configuration space of one assigned PCI function as its
 * guest sees it: the device's own, through the tables of pci_rules.h, with
 * BARs and messages that are the guest's. BARs are sized and moved in here;
 * what follows from it is the caller's. All calls under one lock.
 */
#ifndef VMM_PCI_CONFIG_H
#define VMM_PCI_CONFIG_H

#include <margay/pci.h>
#include "vmm/pci/pci_rules.h"

#define PCI_CONFIG_FIELDS 80
#define PCI_CONFIG_AREAS 48
#define PCI_CONFIG_CAPS 48 /* capabilities that a function may have */

/* The device's registers: aligned accesses of 1, 2 or 4 bytes. */
struct pci_config_io {
	u32 (*read)(void *ctx, u16 offset, unsigned size);
	void (*write)(void *ctx, u16 offset, unsigned size, u32 value);
	void *ctx;
};

struct pci_config {
	struct pci_config_io io;
	struct pci_bar bar[PCI_BARS];
	bool extended;
	/* offsets of these capabilities; 0: none */
	u16 msi;
	u16 msix;
	u16 express;
	u16 pm;
	u16 af;

	unsigned nr_fields;
	unsigned nr_areas;
	struct pci_field {
		struct pci_rule rule; /* offset within the configuration space */
		u32 value;            /* the bits that are not the device's */
	} field[PCI_CONFIG_FIELDS];
	struct {
		u16 start;
		u16 end;
		enum pci_area area;
	} area[PCI_CONFIG_AREAS];
};

/* What a write may have changed. */
#define PCI_CHANGED_DECODE BIT(0) /* where BARs are */
#define PCI_CHANGED_MSI BIT(1)
#define PCI_CHANGED_MSIX BIT(2)
#define PCI_CHANGED_VFS BIT(4) /* pci_sriov.c's: virtual functions are to go on or off */
/* the guest has asked for one: to be done, then pci_config_init() again */
#define PCI_CHANGED_RESET BIT(3)

/*
 * intx: its line interrupt is passed through. caps: in list order, standard ones
 * first. 0; -ENOSPC: they are too many, run out of their
 * space or lie over each other.
 */
int pci_config_init(struct pci_config *c, const struct pci_config_io *io,
		    const struct pci_bar *bars, bool extended, bool intx,
		    const struct pci_cap *caps, unsigned nr_caps);

/*
 * The guest does not set what the way to memory does not take (HOST_PCI_ATOMICS, HOST_PCI_RELAXED).
 * After pci_config_init().
 */
void pci_config_path(struct pci_config *c, unsigned takes);

/* As one that decodes nothing and sends nothing, for a device that is gone. */
void pci_config_clear(struct pci_config *c);

/*
 * Aligned accesses of 1, 2 or 4 bytes below 4096 (256 where `extended` is false); others read as
 * ones, or do nothing.
 */
u32 pci_config_read(const struct pci_config *c, u16 offset, unsigned size);
/* Returns PCI_CHANGED_*. */
unsigned pci_config_write(struct pci_config *c, u16 offset, unsigned size, u32 value);
/*
 * After PCI_CHANGED_DECODE, when what the guest has switched off is mapped no more: the device's
 * ROM goes off as well, for it may have one decoder for that and its registers (PCI Local Bus 3.0,
 * 6.2.5.2).
 */
void pci_config_unmapped(const struct pci_config *c);

/* The guest's MSI-X table has so many entries, from 1 to the device's own number. None: nothing. */
void pci_config_msix_size(struct pci_config *c, unsigned count);

/*
 * closed: the guest's Bus Master Enable is its own, and the device's is off.
 * Opened again, the device has the guest's. Open at first.
 */
void pci_config_gate_master(struct pci_config *c, bool closed);
bool pci_config_master_gated(const struct pci_config *c); /* closed? */
/* The gate is closed, and the guest's bit is on. */
bool pci_config_master_waits(const struct pci_config *c);

/* Where the guest has put a BAR; false: nowhere, for decoding is off. */
bool pci_config_bar(const struct pci_config *c, unsigned i, u64 *base);

/* The guest's MSI: false when disabled. *count: its messages. */
bool pci_config_msi(const struct pci_config *c, u64 *address, u32 *data, unsigned *count);

#endif
