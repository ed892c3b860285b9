/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layouts of the two tables that describe IOMMUs: DMAR (Intel VT-d 4.0,
 * chapter 8) and IVRS (AMD I/O Virtualization, chapter 5).
 */
#ifndef MARGAY_ACPI_IOMMU_H
#define MARGAY_ACPI_IOMMU_H

#include <margay/acpi.h>

/* DMA Remapping Reporting, VT-d 4.0, 8.1. */
struct acpi_dmar {
	struct acpi_sdt header;  /* "DMAR" */
	u8 host_address_width;   /* minus 1 */
	u8 flags;
	u8 reserved[10];
} __packed;
static_assert(sizeof(struct acpi_dmar) == 48, "DMAR");
#define ACPI_DMAR_INTR_REMAP BIT(0)
#define ACPI_DMAR_X2APIC_OPT_OUT BIT(1)
#define ACPI_DMAR_PCI_ALL BIT(0) /* of a unit: it has what no other names */

/* Type and length in front of each remapping structure, VT-d 8.2. */
struct acpi_dmar_sub {
	u16 type;
	u16 length;
} __packed;
static_assert(sizeof(struct acpi_dmar_sub) == 4, "remapping structure header");

enum acpi_dmar_type {
	ACPI_DMAR_DRHD = 0,
	ACPI_DMAR_RMRR = 1,
	ACPI_DMAR_ATSR = 2,
	ACPI_DMAR_RHSA = 3,
	ACPI_DMAR_SATC = 5
};

struct acpi_dmar_path {
	u8 device;
	u8 function;
} __packed;
static_assert(sizeof(struct acpi_dmar_path) == 2, "device scope path");

/* Device scope, VT-d 8.3.1. */
struct acpi_dmar_scope {
	u8 type; /* 1 endpoint, 2 bridge, 3 IOAPIC, 4 HPET, 5 namespace device */
	u8 length;
	u8 flags;
	u8 reserved;
	u8 enumeration_id;
	u8 start_bus;
	struct acpi_dmar_path path[];
} __packed;
static_assert(sizeof(struct acpi_dmar_scope) == 6, "device scope");

struct acpi_dmar_drhd {
	struct acpi_dmar_sub sub;
	u8 flags; /* bit 0: INCLUDE_PCI_ALL */
	u8 size;
	u16 segment;
	u64 base;
} __packed; /* then device scopes */
static_assert(sizeof(struct acpi_dmar_drhd) == 16, "DRHD");

struct acpi_dmar_rmrr {
	struct acpi_dmar_sub sub;
	u16 reserved;
	u16 segment;
	u64 base;
	u64 limit; /* inclusive */
} __packed; /* then device scopes */
static_assert(sizeof(struct acpi_dmar_rmrr) == 24, "RMRR");

struct acpi_dmar_atsr {
	struct acpi_dmar_sub sub;
	u8 flags; /* bit 0: ALL_PORTS */
	u8 reserved;
	u16 segment;
} __packed; /* then device scopes */
static_assert(sizeof(struct acpi_dmar_atsr) == 8, "ATSR");

/* VT-d 4.0, 8.9: functions of the processor's own that have an address translation cache. */
struct acpi_dmar_satc {
	struct acpi_dmar_sub sub;
	u8 flags;
	u8 reserved;
	u16 segment;
} __packed; /* then device scopes */
static_assert(sizeof(struct acpi_dmar_satc) == 8, "SATC");
#define ACPI_DMAR_ATC_REQUIRED BIT(0) /* they do not work without */

struct acpi_dmar_rhsa {
	struct acpi_dmar_sub sub;
	u32 reserved;
	u64 base;
	u32 domain;
} __packed;
static_assert(sizeof(struct acpi_dmar_rhsa) == 20, "RHSA");

/* I/O Virtualization Reporting Structure, AMD IOMMU 5.2.1. */
struct acpi_ivrs {
	struct acpi_sdt header; /* "IVRS" */
	u32 iv_info;
	u64 reserved;
} __packed;
static_assert(sizeof(struct acpi_ivrs) == 48, "IVRS");

/* Type, flags and length in front of each IVRS block. */
struct acpi_ivrs_sub {
	u8 type;
	u8 flags;
	u16 length;
} __packed;
static_assert(sizeof(struct acpi_ivrs_sub) == 4, "IVRS block header");

enum acpi_ivrs_type {
	ACPI_IVHD_10H = 0x10,
	ACPI_IVHD_11H = 0x11,
	ACPI_IVHD_40H = 0x40,
	ACPI_IVMD_ALL = 0x20,
	ACPI_IVMD_RANGE = 0x22,
};

/*
 * I/O Virtualization Hardware Definition, AMD IOMMU 5.2.2. Types 11h and 40h go on with the
 * extended part.
 */
struct acpi_ivhd {
	struct acpi_ivrs_sub sub;
	u16 device_id;
	u16 capability_offset;
	u64 base;
	u16 segment;
	u16 iommu_info;
	u32 features;
} __packed; /* type 10h: then device entries */
static_assert(sizeof(struct acpi_ivhd) == 24, "IVHD 10h");

struct acpi_ivhd_ext {
	struct acpi_ivhd ivhd;
	u64 efr;
	u64 efr2;
} __packed; /* then device entries */
static_assert(sizeof(struct acpi_ivhd_ext) == 40, "IVHD 11h, 40h");

/*
 * Settings of a device entry, 5.2.2.1 (DTE setting): what its devices send past the IOMMU, as the
 * platform's.
 */
enum {
	ACPI_IVHD_INIT = BIT(0),
	ACPI_IVHD_EXTINT = BIT(1),
	ACPI_IVHD_NMI = BIT(2),
	ACPI_IVHD_SYSMGT = 3 << 4,
	ACPI_IVHD_LINT0 = BIT(6),
	ACPI_IVHD_LINT1 = BIT(7),
	ACPI_IVHD_SETTINGS = 0xf7,
};

/* I/O Virtualization Memory Definition, AMD IOMMU 5.2.2.3. */
struct acpi_ivmd {
	struct acpi_ivrs_sub sub;
	u16 device_id;
	u16 auxiliary; /* last device ID of type 22h */
	u16 segment;
	u8 reserved[6];
	u64 base;
	u64 size;
} __packed;
static_assert(sizeof(struct acpi_ivmd) == 32, "IVMD");

#endif
