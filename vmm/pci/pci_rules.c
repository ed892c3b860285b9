/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables: header (PCI Local Bus 3.0, 6.2), standard and extended
 * capabilities (PCI Express Base 5.0, 7.5 to 7.9). Each entry has its reason.
 */
#include "vmm/pci/pci_rules.h"

#include <margay/pci_regs.h>

#define ALL 0xffffffffu
#define BITS(high, low) ((u32)(BIT((high) + 1) - BIT(low)))

#define COMMAND_KEPT \
	(u32)(PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_NO_INTX | PCI_COMMAND_PARITY | \
	      PCI_COMMAND_SERR)
#define COMMAND_WRITTEN (u32)(PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER)
#define ERRORS ((u32)PCI_STATUS_ERRORS << 16)

const struct pci_rule pci_header_rules[] = {
	{ PCI_REG_ID, ALL, 0, 0, 0 },
	/*
	 * I/O and memory decoding are the guest's, for a VF has no such bits, and reach the device
	 * where they are switched on (pci_config_write()); INTx disable does where the line
	 * interrupt is passed through (pci_config_init()). Bus master and the error bits are the
	 * device's. Parity and SERR# are the guest's picture: by the device's the platform would
	 * hear of its errors, as an NMI perhaps.
	 */
	{ PCI_REG_COMMAND, ALL & ~COMMAND_KEPT, COMMAND_WRITTEN | ERRORS, ERRORS, COMMAND_KEPT },
	{ PCI_REG_CLASS, ALL, 0, 0, 0 },
	/* cache line, latency timer: firmware's are right for the bus; no BIST */
	{ PCI_REG_HEADER, BITS(31, 8), 0, 0, 0xff },
	{ PCI_REG_CIS, ALL, 0, 0, 0 },
	{ PCI_REG_SUBSYSTEM, ALL, 0, 0, 0 },
	{ PCI_REG_BRIDGE_ROM, 0, 0, 0, 0 },
	/* no interrupt pin but where the line interrupt is passed through */
	{ PCI_REG_INTERRUPT, BITS(31, 16), 0, 0, 0xff },
};
const unsigned pci_nr_header_rules = ARRAY_SIZE(pci_header_rules);

static const struct pci_rule pm[] = {
	/*
	 * D3 would lose the BARs and messages that the host has set: the guest's power state is its
	 * own, the device stays in D0. Where coming back from D3 resets it, it is reset then.
	 */
	{ PCI_PM_CONTROL, ALL & ~0x103u, 0x9e00, 0x8000, 0x103 },
};

static const struct pci_rule vpd[] = {
	{ 0, ALL, BITS(31, 16), 0, 0 }, /* the address that is asked for */
	{ 4, ALL, ALL, 0, 0 },
};

static const struct pci_rule express[] = {
	/*
	 * FLR is the host's to do, when the guest asks for it (PCI_CHANGED_RESET). The payload size
	 * fits the path; phantom functions and auxiliary power are not the guest's. No Snoop and
	 * the reports of errors stay off (pci_kept.c).
	 */
	{ PCI_EXP_DEVICE_CONTROL, ALL & ~0x8eefu, 0x000f7110, 0x000f0000, 0x0eef },
	/* the link's other end is the host's: no ASPM, no retraining */
	{ PCI_EXP_LINK_CONTROL, BITS(31, 16), 0, 0, 0x0fcb },
	/* LTR, OBFF, 10-bit tags: as the link */
	{ PCI_EXP_DEVICE_CONTROL2, ALL & ~0x7400u, 0x035f, 0, 0x7400 },
	{ PCI_EXP_LINK_CONTROL2, BITS(31, 16), 0, 0, 0xffff }, /* the link again */
};

#define MSI_KEPT ((u32)(PCI_MSI_ENABLE | PCI_MSI_COUNT) << 16)

static const struct pci_rule msi[] = {
	/*
	 * Messages are the guest's own; the host writes what the device sends (vmm/pci/pci_msi.c).
	 */
	{ 0, ALL & ~MSI_KEPT, 0, 0, MSI_KEPT },
};

#define MSIX_KEPT ((u32)(PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL) << 16)

static const struct pci_rule msix[] = {
	{ 0, ALL & ~MSIX_KEPT, 0, 0, MSIX_KEPT }, /* as MSI */
};

static const struct pci_rule af[] = {
	{ PCI_AF_CONTROL, PCI_AF_PENDING << 8, 0, 0, 0 }, /* FLR as in the PCI Express capability */
};

static const struct pci_rule aer[] = {
	/*
	 * What is noted is the device's; masks, severity and ECRC are the guest's picture: nothing
	 * of it is reported.
	 */
	{ PCI_AER_STATUS, ALL, ALL, ALL, 0 },
	{ PCI_AER_MASK, 0, 0, 0, ALL },
	{ PCI_AER_SEVERITY, 0, 0, 0, ALL },
	{ PCI_AER_CORRECTABLE_STATUS, ALL, ALL, ALL, 0 },
	{ PCI_AER_CORRECTABLE_MASK, 0, 0, 0, ALL },
	{ PCI_AER_CONTROL, ALL & ~0x540u, 0, 0, 0x540 },
};

#define RULES(a) ARRAY_SIZE(a), a

static const struct pci_cap_rule caps[] = {
	{ PCI_CAP_PM, false, PCI_AREA_READ, 8, RULES(pm) },
	{ PCI_CAP_VPD, false, PCI_AREA_READ, 8, RULES(vpd) },
	{ PCI_CAP_MSI, false, PCI_AREA_READ, 0, RULES(msi) },
	{ PCI_CAP_PCIX, false, PCI_AREA_READ, 8, 0, NULL }, /* the bus' */
	/* the vendor's own, which its driver knows */
	{ PCI_CAP_VENDOR, false, PCI_AREA_DIRECT, 0, 0, NULL },
	{ PCI_CAP_DEBUG_PORT, false, PCI_AREA_READ, 4, 0, NULL }, /* where the debug port is */
	{ PCI_CAP_SUBSYSTEM, false, PCI_AREA_READ, 8, 0, NULL }, /* subsystem IDs */
	{ PCI_CAP_EXP, false, PCI_AREA_READ, 0x3c, RULES(express) },
	{ PCI_CAP_MSIX, false, PCI_AREA_READ, 12, RULES(msix) },
	{ PCI_CAP_SATA, false, PCI_AREA_READ, 8, 0, NULL }, /* another way to registers of a BAR */
	{ PCI_CAP_AF, false, PCI_AREA_READ, 8, RULES(af) },
	/* ranges beside the BARs, which the host does not map */
	{ PCI_CAP_EA, false, PCI_AREA_HIDDEN, 0, 0, NULL },
	{ PCI_CAP_FPB, false, PCI_AREA_HIDDEN, 0, 0, NULL }, /* not without the bridge */
	{ PCI_EXT_CAP_AER, true, PCI_AREA_READ, 0x48, RULES(aer) },
	{ PCI_EXT_CAP_VENDOR, true, PCI_AREA_DIRECT, 0, 0, NULL }, /* the vendor's own */
	/* addresses that the IOMMU, not the guest, has translated */
	{ PCI_EXT_CAP_ATS, true, PCI_AREA_HIDDEN, 8, 0, NULL },
	/* VFs would appear that nobody has assigned */
	{ PCI_EXT_CAP_SRIOV, true, PCI_AREA_HIDDEN, 0x40, 0, NULL },
	{ PCI_EXT_CAP_MRIOV, true, PCI_AREA_HIDDEN, 0x40, 0, NULL }, /* likewise */
	{ PCI_EXT_CAP_MULTICAST, true, PCI_AREA_HIDDEN, 0x30, 0, NULL }, /* needs the switches */
	{ PCI_EXT_CAP_PRI, true, PCI_AREA_HIDDEN, 0x10, 0, NULL }, /* needs the IOMMU */
	{ PCI_EXT_CAP_REBAR, true, PCI_AREA_HIDDEN, 0x34, 0, NULL }, /* the host sizes BARs once */
	{ PCI_EXT_CAP_PASID, true, PCI_AREA_HIDDEN, 8, 0, NULL }, /* needs the IOMMU */
	{ PCI_EXT_CAP_DPC, true, PCI_AREA_HIDDEN, 0x20, 0, NULL }, /* the port's */
	{ PCI_EXT_CAP_VF_REBAR, true, PCI_AREA_HIDDEN, 0x34, 0, NULL }, /* as REBAR */
};

/*
 * A capability that is not listed may be seen, and not be changed: nobody knows what a write would
 * do to the host.
 */
static const struct pci_cap_rule unknown = { 0, false, PCI_AREA_READ, 0, 0, NULL };

const struct pci_cap_rule *pci_cap_rule(u16 id, bool extended)
{
	for (unsigned i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i].id == id && caps[i].extended == extended)
			return &caps[i];
	return &unknown;
}
