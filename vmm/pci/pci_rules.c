/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables: header (PCI Local Bus 3.0, 6.2), standard and extended
 * capabilities (PCI Express Base 5.0, 7.5 to 7.9). Each entry has its reason.
 */
#include "vmm/pci/pci_rules.h"

#define ALL 0xffffffffu
#define PART(n) ((u32)BIT(n))
#define BITS(high, low) ((u32)(BIT((high) + 1) - BIT(low)))

const struct pci_rule pci_header_rules[] = {
	{ 0x00, ALL, 0, 0, 0 }, /* IDs */
	/*
	 * I/O and memory decoding are the guest's, for a VF has no such bits, and
	 * reach the device where they are switched on (pci_config_write()); INTx
	 * disable does where the line interrupt is passed through
	 * (pci_config_init()). Bus master, parity, SERR# and the error bits are the device's.
	 */
	{ 0x04, ALL & ~0x403u, 0xf9000147, 0xf9000000, 0x403 },
	{ 0x08, ALL, 0, 0, 0 },              /* class */
	{ 0x0c, BITS(31, 8), 0, 0, 0xff }, /* cache line size, latency timer: firmware's are right for the bus; no BIST */
	{ 0x28, ALL, 0, 0, 0 },
	{ 0x2c, ALL, 0, 0, 0 },              /* subsystem */
	{ 0x38, 0, 0, 0, 0 },
	{ 0x3c, BITS(31, 16), 0, 0, 0xff },   /* no interrupt pin but where the line interrupt is passed through */
};
const unsigned pci_nr_header_rules = ARRAY_SIZE(pci_header_rules);

static const struct pci_rule pm[] = {
	/*
	 * D3 would lose the BARs and messages that the host has set: the guest's power state is its own, the device stays in
	 * D0. Where coming back from D3 resets it, it is reset then.
	 */
	{ 4, ALL & ~0x103u, 0x9e00, 0x8000, 0x103 },
};

static const struct pci_rule vpd[] = {
	{ 0, ALL, BITS(31, 16), 0, 0 }, /* the address that is asked for */
	{ 4, ALL, ALL, 0, 0 },
};

static const struct pci_rule express[] = {
	/*
	 * FLR is the host's to do, when the guest asks for it (PCI_CHANGED_RESET). The payload size fits the path; phantom
	 * functions and auxiliary power are not the guest's.
	 */
	{ 0x08, ALL & ~0x86e0u, 0x000f791f, 0x000f0000, 0x06e0 },
	{ 0x10, BITS(31, 16), 0, 0, 0x0fcb }, /* the link's other end is the host's: no ASPM, no retraining */
	{ 0x28, ALL & ~0x7400u, 0x035f, 0, 0x7400 }, /* LTR, OBFF, 10-bit tags: as the link */
	{ 0x30, BITS(31, 16), 0, 0, 0xffff }, /* the link again */
};

static const struct pci_rule msi[] = {
	/* Messages are the guest's own; the host writes what the device sends (vmm/pci/pci_msi.c). */
	{ 0x00, BITS(15, 0) | BITS(19, 17) | BITS(31, 23), 0, 0, PART(16) | BITS(22, 20) },
};

static const struct pci_rule msix[] = {
	{ 0x00, BITS(29, 0), 0, 0, BITS(31, 30) }, /* as MSI */
};

static const struct pci_rule af[] = {
	{ 4, PART(8), 0, 0, 0 }, /* FLR as in the PCI Express capability */
};

#define RULES(a) ARRAY_SIZE(a), a

static const struct pci_cap_rule caps[] = {
	{ 0x01, false, PCI_AREA_READ, 8, RULES(pm) },
	{ 0x03, false, PCI_AREA_READ, 8, RULES(vpd) },
	{ 0x05, false, PCI_AREA_READ, 0, RULES(msi) },
	{ 0x07, false, PCI_AREA_READ, 8, 0, NULL }, /* PCI-X: the bus' */
	{ 0x09, false, PCI_AREA_DIRECT, 0, 0, NULL }, /* the vendor's own, which its driver knows */
	{ 0x0a, false, PCI_AREA_READ, 4, 0, NULL }, /* where the debug port is */
	{ 0x0d, false, PCI_AREA_READ, 8, 0, NULL }, /* subsystem IDs */
	{ 0x10, false, PCI_AREA_READ, 0x3c, RULES(express) },
	{ 0x11, false, PCI_AREA_READ, 12, RULES(msix) },
	{ 0x12, false, PCI_AREA_READ, 8, 0, NULL }, /* another way to registers of a BAR (SATA) */
	{ 0x13, false, PCI_AREA_READ, 8, RULES(af) },
	{ 0x14, false, PCI_AREA_HIDDEN, 0, 0, NULL }, /* enhanced allocation: ranges beside the BARs, which the host does not map */
	{ 0x15, false, PCI_AREA_HIDDEN, 0, 0, NULL }, /* flattening portal bridge: not without the bridge */
	{ 0x01, true, PCI_AREA_DIRECT, 0x48, 0, NULL }, /* AER: the function's own errors */
	{ 0x0b, true, PCI_AREA_DIRECT, 0, 0, NULL },    /* the vendor's own */
	{ 0x0f, true, PCI_AREA_HIDDEN, 8, 0, NULL },    /* ATS: addresses that the IOMMU, not the guest, has translated */
	{ 0x10, true, PCI_AREA_HIDDEN, 0x40, 0, NULL }, /* SR-IOV: VFs would appear that nobody has assigned */
	{ 0x11, true, PCI_AREA_HIDDEN, 0x40, 0, NULL }, /* MR-IOV: likewise */
	{ 0x12, true, PCI_AREA_HIDDEN, 0x30, 0, NULL }, /* multicast: needs the switches */
	{ 0x13, true, PCI_AREA_HIDDEN, 0x10, 0, NULL }, /* page requests: need the IOMMU */
	{ 0x15, true, PCI_AREA_HIDDEN, 0x34, 0, NULL }, /* resizable BAR: the host sizes BARs once */
	{ 0x1b, true, PCI_AREA_HIDDEN, 8, 0, NULL },    /* PASID: needs the IOMMU */
	{ 0x1d, true, PCI_AREA_HIDDEN, 0x20, 0, NULL }, /* downstream port containment: the port's */
	{ 0x24, true, PCI_AREA_HIDDEN, 0x34, 0, NULL }, /* VF resizable BAR */
};

/* A capability that is not listed may be seen, and not be changed: nobody knows what a write would do to the host. */
static const struct pci_cap_rule unknown = { 0, false, PCI_AREA_READ, 0, 0, NULL };

const struct pci_cap_rule *pci_cap_rule(u16 id, bool extended)
{
	for (unsigned i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i].id == id && caps[i].extended == extended)
			return &caps[i];
	return &unknown;
}
