/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words of PCI configuration space: registers by their offset, capabilities by their ID, and
 * bits as the register of that offset has them. Sections are those of PCI Local Bus 3.0 (PCI) and
 * PCI Express Base 5.0 (PCIe); PM is PCI Power Management 1.2, AF the ECN Advanced Capabilities.
 */
#ifndef MARGAY_PCI_REGS_H
#define MARGAY_PCI_REGS_H

#include <margay/types.h>

/* Configuration mechanism 1, PCI 3.2.2.3.2: ports, and what makes the first an address. */
#define PCI_CONFIG_ADDRESS 0xcf8
#define PCI_CONFIG_DATA 0xcfc
#define PCI_CONFIG_ENABLE BIT(31)
/*
 * ECAM, PCIe 7.2.2: 4 KiB of each function, by bus << 8 | device << 3 | function; bytes of a bus.
 */
#define PCI_ECAM_SHIFT 12
#define PCI_ECAM_BUS_SIZE MIB(1)

/*
 * The header, PCI 6.1; of a bridge PCI-to-PCI Bridge 1.2, 3.2. Where the spaces for capabilities
 * begin and end.
 */
enum pci_reg {
	PCI_REG_ID = 0x00, /* vendor; device << 16 */
	PCI_REG_COMMAND = 0x04, /* 16 bits; status << 16 */
	PCI_REG_STATUS = 0x06,
	PCI_REG_CLASS = 0x08, /* revision; class code << 8 */
	/* cache line size; latency timer << 8; header type << 16; BIST << 24 */
	PCI_REG_HEADER = 0x0c,
	PCI_REG_BAR = 0x10, /* six, a bridge's two */
	PCI_REG_BUSES = 0x18, /* a bridge's: primary; secondary << 8; subordinate << 16 */
	/* base, limit << 8; bits 31:16 of both: of ports */
	PCI_REG_BRIDGE_IO = 0x1c,
	PCI_REG_BRIDGE_IO_HIGH = 0x30,
	/* base; limit << 16: of memory; 64 bits: base, limit + 4, + 8 */
	PCI_REG_BRIDGE_MEMORY = 0x20,
	PCI_REG_BRIDGE_FETCH = 0x24,
	PCI_REG_CIS = 0x28, /* CardBus */
	PCI_REG_SUBSYSTEM = 0x2c,
	PCI_REG_ROM = 0x30,
	PCI_REG_CAPABILITIES = 0x34, /* 8 bits */
	PCI_REG_BRIDGE_ROM = 0x38,
	/* of its secondary bus */
	PCI_REG_BRIDGE_CONTROL = 0x3e,
	PCI_BRIDGE_RESET = BIT(6),
	PCI_REG_INTERRUPT = 0x3c, /* line; pin << 8 */
	PCI_REG_INTERRUPT_PIN = 0x3d,
	PCI_HEADER_END = 0x40,
	PCI_STANDARD_END = 0x100,
	PCI_EXTENDED_END = 0x1000,
};

/* PCI 6.2.2, 6.2.3. Those of the errors are cleared by writing ones. */
enum {
	PCI_COMMAND_IO = BIT(0),
	PCI_COMMAND_MEMORY = BIT(1),
	PCI_COMMAND_MASTER = BIT(2),
	PCI_COMMAND_PARITY = BIT(6),
	PCI_COMMAND_SERR = BIT(8),
	PCI_COMMAND_NO_INTX = BIT(10),
	PCI_STATUS_CAPABILITIES = BIT(4),
	PCI_STATUS_ERRORS = 0xf900,
};

/* Of PCI_REG_HEADER, PCI 6.2.1. */
#define PCI_HEADER_MULTI BIT(23)
#define PCI_HEADER_TYPE(reg) ((reg) >> 16 & 0x7f)
enum { PCI_HEADER_FUNCTION = 0, PCI_HEADER_BRIDGE = 1 };

/* PCI 6.2.5.1, 6.2.5.2. */
enum {
	PCI_BAR_IO = BIT(0),
	PCI_BAR_TYPE = BIT(1) | BIT(2),
	PCI_BAR_64 = BIT(2),
	PCI_BAR_PREFETCH = BIT(3),
	PCI_ROM_ENABLE = BIT(0),
};
/* The bits that are no address. */
#define PCI_BAR_FLAGS(reg) ((reg) & PCI_BAR_IO ? 0x3u : 0xfu)
#define PCI_ROM_FLAGS 0x7ffu

#define PCI_INTERRUPT_PIN 0xff00u /* of PCI_REG_INTERRUPT */

/*
 * PCI Code and ID Assignment 1.11, chapters 2 and 3. EA: enhanced allocation; FPB: flattening
 * portal bridge.
 */
enum pci_cap_id {
	PCI_CAP_PM = 0x01,
	PCI_CAP_VPD = 0x03,
	PCI_CAP_MSI = 0x05,
	PCI_CAP_PCIX = 0x07,
	PCI_CAP_VENDOR = 0x09,
	PCI_CAP_DEBUG_PORT = 0x0a,
	PCI_CAP_SUBSYSTEM = 0x0d,
	PCI_CAP_EXP = 0x10,
	PCI_CAP_MSIX = 0x11,
	PCI_CAP_SATA = 0x12,
	PCI_CAP_AF = 0x13,
	PCI_CAP_EA = 0x14,
	PCI_CAP_FPB = 0x15,
};
/* DPC: downstream port containment; REBAR: resizable BAR; LTR: latency tolerance reporting. */
enum pci_ext_cap_id {
	PCI_EXT_CAP_AER = 0x01,
	PCI_EXT_CAP_VENDOR = 0x0b,
	PCI_EXT_CAP_ACS = 0x0d,
	PCI_EXT_CAP_ATS = 0x0f,
	PCI_EXT_CAP_SRIOV = 0x10,
	PCI_EXT_CAP_MRIOV = 0x11,
	PCI_EXT_CAP_MULTICAST = 0x12,
	PCI_EXT_CAP_PRI = 0x13,
	PCI_EXT_CAP_REBAR = 0x15,
	PCI_EXT_CAP_LTR = 0x18,
	PCI_EXT_CAP_PASID = 0x1b,
	PCI_EXT_CAP_DPC = 0x1d,
	PCI_EXT_CAP_VF_REBAR = 0x24,
};

/*
 * Below, offsets are within the capability. Many have a 16-bit register at 2: with the head, read
 * as one dword, its bits are these << 16.
 */

/*
 * ACS 6.12: source validation, request and completion redirect, upstream forwarding, as
 * capabilities and as control.
 */
enum { PCI_ACS_CAPABILITIES = 4, PCI_ACS_CONTROL = 6, PCI_ACS_ISOLATION = 0x1d };

/* PM 3.2. */
enum { PCI_PM_CONTROL = 4, PCI_PM_STATE = 3, PCI_PM_NO_SOFT_RESET = BIT(3) };

/* PCI 6.8.1. */
enum {
	PCI_MSI_CONTROL = 2,
	PCI_MSI_ENABLE = BIT(0),
	PCI_MSI_COUNT = 7 << 4,
	PCI_MSI_64 = BIT(7),
	PCI_MSI_MASKS = BIT(8),
	PCI_MSI_ADDRESS = 4,
};
/*
 * How many messages, by their logarithm: what the device can have, what it may use; above 5 is
 * reserved.
 */
#define PCI_MSI_MAX 32u /* messages of a function */
#define PCI_MSI_CAPABLE(control) ((control) >> 1 & 7)
#define PCI_MSI_ENABLED(control) ((control) >> 4 & 7)
/* Offset of the data; 4 bytes behind it are the masks, where there are some. */
#define PCI_MSI_DATA(control) ((control) & PCI_MSI_64 ? 12u : 8u)

/* PCI 6.8.2. A table entry: address, upper address, data, vector control. */
enum {
	PCI_MSIX_CONTROL = 2,
	PCI_MSIX_SIZE = 0x7ff,
	PCI_MSIX_MASK_ALL = BIT(14),
	PCI_MSIX_ENABLE = BIT(15),
	PCI_MSIX_TABLE = 4,
	PCI_MSIX_PENDING = 8,
	PCI_MSIX_BAR = 7,
	PCI_MSIX_ENTRY_SIZE = 16,
	PCI_MSIX_ENTRY_MASKED = BIT(0),
};

/* PCIe 7.5.3. */
enum {
	PCI_EXP_CAPABILITIES = 2,
	PCI_EXP_VERSION = 0xf,
	PCI_EXP_DEVICE = 4,
	PCI_EXP_FLR = BIT(28),
	PCI_EXP_DEVICE_CONTROL = 8,
	PCI_EXP_REPORTS = 0xf,
	PCI_EXP_RELAXED = BIT(4),
	PCI_EXP_NO_SNOOP = BIT(11),
	PCI_EXP_START_FLR = BIT(15),
	PCI_EXP_DEVICE_STATUS = 10,
	PCI_EXP_ERRORS = 0xf,
	/* cleared by writing ones */ PCI_EXP_PENDING = BIT(5),
	/* has the next */
	PCI_EXP_LINK = 0x0c,
	PCI_EXP_LINK_TELLS = BIT(20),
	PCI_EXP_LINK_STATUS = 0x12,
	PCI_EXP_LINK_ACTIVE = BIT(13),
	PCI_EXP_LINK_CONTROL = 0x10,
	PCI_EXP_DEVICE_CONTROL2 = 0x28,
	PCI_EXP_LINK_CONTROL2 = 0x30,
};
#define PCI_EXP_TYPE(capabilities) ((capabilities) >> 4 & 0xf)

/* Device/port type, PCIe 7.5.3.2. */
enum pcie_type {
	PCIE_ENDPOINT = 0,
	PCIE_LEGACY_ENDPOINT = 1,
	PCIE_ROOT_PORT = 4,
	PCIE_UPSTREAM = 5,
	PCIE_DOWNSTREAM = 6,
	PCIE_TO_PCI = 7,
	PCI_TO_PCIE = 8,
	PCIE_INTEGRATED = 9,
	PCIE_EVENT_COLLECTOR = 10,
};

/* Advanced error reporting, PCIe 7.8.4: what is noted is cleared by writing ones. */
enum {
	PCI_AER_STATUS = 4,
	PCI_AER_MASK = 8,
	PCI_AER_SEVERITY = 0x0c,
	PCI_AER_CORRECTABLE_STATUS = 0x10,
	PCI_AER_CORRECTABLE_MASK = 0x14,
	PCI_AER_CONTROL = 0x18,
};

/*
 * Resizable BAR, PCIe 7.8.6; of VFs 7.8.7: the first of eight bytes for each BAR, its control; how
 * many, in the first one's.
 */
enum { PCI_REBAR_CONTROL = 8, PCI_REBAR_STEP = 8, PCI_REBAR_SIZE = 0x3f00 };
#define PCI_REBAR_COUNT(control) ((control) >> 5 & 7)

/*
 * LTR, PCIe 7.8.2: latencies, with and without snooping << 16; the bit of Device Control 2 that has
 * them sent.
 */
enum { PCI_LTR_LATENCIES = 4, PCI_EXP_LTR = BIT(10) };

/* AtomicOp Requester Enable, PCIe 7.5.3.16: of Device Control 2. */
enum { PCI_EXP_ATOMICS = BIT(6) };

/*
 * ARI, PCIe 6.13: of a port's Device Capabilities 2, and of its Device Control 2 by which it passes
 * on all function numbers.
 */
enum { PCI_EXP_ARI = BIT(5) };

/* AF 2.2; each register has 8 bits. */
enum {
	PCI_AF_CAPABILITIES = 3,
	PCI_AF_FLR = BIT(1),
	PCI_AF_CONTROL = 4,
	PCI_AF_START_FLR = BIT(0),
	PCI_AF_STATUS = 5,
	PCI_AF_PENDING = BIT(0),
};

/* PCIe 9.3.3. */
enum {
	/* they decode addresses */
	PCI_SRIOV_CONTROL = 0x08,
	PCI_SRIOV_ENABLE = BIT(0),
	PCI_SRIOV_MEMORY = BIT(3),
	/* virtual functions that it has at first; that it can have << 16 */
	PCI_SRIOV_VFS = 0x0c,
	PCI_SRIOV_NUM_VFS = 0x10, /* 16 bits: that are on, with SRIOV_ENABLE */
	/* of requester IDs: from its own to the first one's; stride << 16 */
	PCI_SRIOV_OFFSET = 0x14,
	PCI_SRIOV_DEVICE = 0x18, /* their device ID << 16 */
	PCI_SRIOV_PAGES = 0x1c, /* sizes of pages that their BARs can have, 4 KiB << n */
	PCI_SRIOV_PAGE = 0x20, /* the one that they have */
	PCI_SRIOV_BAR = 0x24, /* six */
	PCI_SRIOV_SIZE = 0x40,
};

/*
 * Class codes, PCI Code and ID Assignment 1.11, chapter 1: class << 8 | subclass, and the class
 * alone.
 */
#define PCI_CLASS_IDE 0x0101u
#define PCI_CLASS_VGA 0x0300u
#define PCI_CLASS_HOST_BRIDGE 0x0600u
#define PCI_CLASS_USB 0x0c03u
#define PCI_BASE_CLASS_DISPLAY 0x03u
#define PCI_BASE_CLASS_BRIDGE 0x06u
#define PCI_BASE_CLASS_SYSTEM 0x08u

#endif
