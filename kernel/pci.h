/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PCI core: configuration access by ECAM where the MCFG covers a bus, else
 * by mechanism 1 (PCI Local Bus 3.0, 3.2.2.3.2; PCI Express Base 5.0, 7.2),
 * and the list of functions found at boot. Access from any CPU.
 */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H

#include <margay/pci.h>
#include "kernel/acpi/tables.h"

#define PCI_MAX_FUNCTIONS 512
#define PCI_BARS 7
#define PCI_ROM_BAR 6 /* the expansion ROM among them */

/* Low bits of a BAR (PCI Local Bus 3.0, 6.2.5.1). */
#define PCI_BAR_IO BIT(0)
#define PCI_BAR_TYPE (BIT(1) | BIT(2))
#define PCI_BAR_64 BIT(2)

struct pci_address {
	u16 segment;
	u8 bus;
	u8 devfn; /* device << 3 | function */
};

struct pci_function {
	struct pci_address address;
	u16 vendor, device;
	u32 class_code; /* class << 16 | subclass << 8 | programming interface */
	u8 header_type; /* without the multi-function bit */
	u8 secondary_bus, subordinate_bus; /* of a bridge */
	bool extended;  /* offsets 0x100-0xfff are there */
	/* Only in images with PASSTHROUGH: */
	u8 bar_shift[PCI_BARS]; /* log2 of its size; 0: none, as the second half of a 64-bit one, and all of a bridge's */
	u64 bar[PCI_BARS];      /* as firmware left it, with its low bits */
};

/* Address of a BAR; 0: firmware gave it none. */
static inline u64 pci_bar_base(const struct pci_function *f, unsigned i)
{
	return f->bar[i] & ~(i == PCI_ROM_BAR ? 0x7ffull : f->bar[i] & PCI_BAR_IO ? 3ull : 0xfull);
}

/* Enumerates; mcfg may be NULL. Logs each function at debug level and a count otherwise. */
#if IS_ENABLED(CONFIG_PCI)
void pci_init(const struct mcfg_info *mcfg);
#else
static inline void pci_init(const struct mcfg_info *mcfg)
{
	(void)mcfg;
}
#endif

/* Function i in address order per root bus, or NULL past the last. */
const struct pci_function *pci_get(unsigned i);

/*
 * All of function i; sizes: of its BARs, too, for which it is switched off for a
 * moment: only while nobody uses it (kernel/pciinfo.h). False past the last.
 */
bool pci_info(unsigned i, bool sizes, struct pci_info *out);

/* Does an ECAM of the MCFG reach any function? */
bool pci_has_ecam(void);

/* Aligned accesses of 1, 2 or 4 bytes; what is out of reach reads as all ones, writes to it are dropped. */
u32 pci_read(struct pci_address a, u16 offset, unsigned size);
void pci_write(struct pci_address a, u16 offset, unsigned size, u32 value);

#endif
