/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layouts of the ACPI tables that Margay reads (host) and writes (guest).
 * ACPI 6.4 chapters 5 and 17; PCI Firmware 3.2, 4.1.2 (MCFG); IA-PC HPET 1.0a,
 * 3.2.4; VT-d 4.0, chapter 8 (DMAR); AMD IOMMU 3.07, chapter 5.2 (IVRS).
 * All fields are little endian and unaligned: the structures are packed.
 */
#ifndef MARGAY_ACPI_H
#define MARGAY_ACPI_H

#include <margay/types.h>

/* Generic Address Structure, ACPI 5.2.3.2. */
struct acpi_gas {
	u8 space_id;
	u8 bit_width;
	u8 bit_offset;
	u8 access_size;
	u64 address;
} __packed;
static_assert(sizeof(struct acpi_gas) == 12, "GAS");

#define ACPI_SPACE_MEMORY 0
#define ACPI_SPACE_IO 1
#define ACPI_SPACE_PCI_CONFIG 2
#define ACPI_SPACE_FIXED_HARDWARE 0x7f
#define ACPI_ACCESS_BYTE 1
#define ACPI_ACCESS_WORD 2

/* Root System Description Pointer, ACPI 5.2.5.3. Revision 0 ends after rsdt_address. */
struct acpi_rsdp {
	char signature[8]; /* "RSD PTR " */
	u8 checksum;       /* of the first 20 bytes */
	char oem_id[6];
	u8 revision;
	u32 rsdt_address;
	u32 length;
	u64 xsdt_address;
	u8 extended_checksum; /* of all 36 bytes */
	u8 reserved[3];
} __packed;
static_assert(sizeof(struct acpi_rsdp) == 36, "RSDP");
#define ACPI_RSDP_V1_SIZE 20

/* System description table header, ACPI 5.2.6. */
struct acpi_sdt {
	char signature[4];
	u32 length;
	u8 revision;
	u8 checksum;
	char oem_id[6];
	char oem_table_id[8];
	u32 oem_revision;
	char creator_id[4];
	u32 creator_revision;
} __packed;
static_assert(sizeof(struct acpi_sdt) == 36, "SDT header");

/* XSDT, ACPI 5.2.8: the header, then 64-bit table addresses. */
struct acpi_xsdt {
	struct acpi_sdt header;
	u64 entry[];
} __packed;
static_assert(sizeof(struct acpi_xsdt) == 36, "XSDT");

/* Fixed ACPI Description Table, revision 6, ACPI 5.2.9. */
struct acpi_fadt {
	struct acpi_sdt header; /* 0: "FACP" */
	u32 firmware_ctrl; /* 36: FIRMWARE_CTRL */
	u32 dsdt; /* 40: DSDT */
	u8 reserved0; /* 44 */
	u8 preferred_pm_profile; /* 45: Preferred_PM_Profile */
	u16 sci_int; /* 46: SCI_INT */
	u32 smi_cmd; /* 48: SMI_CMD */
	u8 acpi_enable; /* 52: ACPI_ENABLE */
	u8 acpi_disable; /* 53: ACPI_DISABLE */
	u8 s4bios_req; /* 54: S4BIOS_REQ */
	u8 pstate_cnt; /* 55: PSTATE_CNT */
	u32 pm1a_evt_blk; /* 56: PM1a_EVT_BLK */
	u32 pm1b_evt_blk; /* 60: PM1b_EVT_BLK */
	u32 pm1a_cnt_blk; /* 64: PM1a_CNT_BLK */
	u32 pm1b_cnt_blk; /* 68: PM1b_CNT_BLK */
	u32 pm2_cnt_blk; /* 72: PM2_CNT_BLK */
	u32 pm_tmr_blk; /* 76: PM_TMR_BLK */
	u32 gpe0_blk; /* 80: GPE0_BLK */
	u32 gpe1_blk; /* 84: GPE1_BLK */
	u8 pm1_evt_len; /* 88: PM1_EVT_LEN */
	u8 pm1_cnt_len; /* 89: PM1_CNT_LEN */
	u8 pm2_cnt_len; /* 90: PM2_CNT_LEN */
	u8 pm_tmr_len; /* 91: PM_TMR_LEN */
	u8 gpe0_blk_len; /* 92: GPE0_BLK_LEN */
	u8 gpe1_blk_len; /* 93: GPE1_BLK_LEN */
	u8 gpe1_base; /* 94: GPE1_BASE */
	u8 cst_cnt; /* 95: CST_CNT */
	u16 p_lvl2_lat; /* 96: P_LVL2_LAT */
	u16 p_lvl3_lat; /* 98: P_LVL3_LAT */
	u16 flush_size; /* 100: FLUSH_SIZE */
	u16 flush_stride; /* 102: FLUSH_STRIDE */
	u8 duty_offset; /* 104: DUTY_OFFSET */
	u8 duty_width; /* 105: DUTY_WIDTH */
	u8 day_alrm; /* 106: DAY_ALRM */
	u8 mon_alrm; /* 107: MON_ALRM */
	u8 century; /* 108: CENTURY */
	u16 iapc_boot_arch; /* 109: IAPC_BOOT_ARCH */
	u8 reserved1; /* 111 */
	u32 flags; /* 112: Flags */
	struct acpi_gas reset_reg; /* 116: RESET_REG */
	u8 reset_value; /* 128: RESET_VALUE */
	u16 arm_boot_arch; /* 129: ARM_BOOT_ARCH */
	u8 minor_version; /* 131: FADT Minor Version */
	u64 x_firmware_ctrl; /* 132: X_FIRMWARE_CTRL */
	u64 x_dsdt; /* 140: X_DSDT */
	struct acpi_gas x_pm1a_evt_blk; /* 148: X_PM1a_EVT_BLK */
	struct acpi_gas x_pm1b_evt_blk; /* 160: X_PM1b_EVT_BLK */
	struct acpi_gas x_pm1a_cnt_blk; /* 172: X_PM1a_CNT_BLK */
	struct acpi_gas x_pm1b_cnt_blk; /* 184: X_PM1b_CNT_BLK */
	struct acpi_gas x_pm2_cnt_blk; /* 196: X_PM2_CNT_BLK */
	struct acpi_gas x_pm_tmr_blk; /* 208: X_PM_TMR_BLK */
	struct acpi_gas x_gpe0_blk; /* 220: X_GPE0_BLK */
	struct acpi_gas x_gpe1_blk; /* 232: X_GPE1_BLK */
	struct acpi_gas sleep_control_reg; /* 244: SLEEP_CONTROL_REG */
	struct acpi_gas sleep_status_reg; /* 256: SLEEP_STATUS_REG */
	u64 hypervisor_vendor_id; /* 268: Hypervisor Vendor Identity */
} __packed;
static_assert(sizeof(struct acpi_fadt) == 276, "FADT");
static_assert(offsetof(struct acpi_fadt, pm_tmr_blk) == 76, "FADT PM_TMR_BLK");
static_assert(offsetof(struct acpi_fadt, century) == 108, "FADT CENTURY");
static_assert(offsetof(struct acpi_fadt, flags) == 112, "FADT Flags");
static_assert(offsetof(struct acpi_fadt, reset_reg) == 116, "FADT RESET_REG");
static_assert(offsetof(struct acpi_fadt, x_dsdt) == 140, "FADT X_DSDT");
static_assert(offsetof(struct acpi_fadt, x_pm_tmr_blk) == 208, "FADT X_PM_TMR_BLK");
static_assert(offsetof(struct acpi_fadt, sleep_control_reg) == 244, "FADT SLEEP_CONTROL_REG");
#define ACPI_FADT_V1_SIZE 116

/* FADT Flags, ACPI table 5.10. */
#define ACPI_FADT_WBINVD BIT(0)
#define ACPI_FADT_SLP_BUTTON BIT(5)
#define ACPI_FADT_PWR_BUTTON BIT(4)
#define ACPI_FADT_TMR_VAL_EXT BIT(8)
#define ACPI_FADT_RESET_REG_SUP BIT(10)
#define ACPI_FADT_HEADLESS BIT(12)
#define ACPI_FADT_HW_REDUCED BIT(20)

/* FADT IAPC_BOOT_ARCH, ACPI table 5.11. */
#define ACPI_BOOT_NO_VGA BIT(2)
#define ACPI_BOOT_NO_CMOS_RTC BIT(5)

/* PM1 control register, ACPI table 4.16, and SLEEP_CONTROL_REG, table 4.20. */
#define ACPI_PM1_SCI_EN BIT(0)
#define ACPI_PM1_SLP_TYP_SHIFT 10
#define ACPI_PM1_SLP_EN BIT(13)
#define ACPI_SLEEP_SLP_TYP_SHIFT 2
#define ACPI_SLEEP_SLP_EN BIT(5)

/* Type and length in front of each sub-structure of MADT and SRAT. */
struct acpi_sub {
	u8 type;
	u8 length;
} __packed;
static_assert(sizeof(struct acpi_sub) == 2, "sub-structure header");

/* Multiple APIC Description Table, ACPI 5.2.12. */
struct acpi_madt {
	struct acpi_sdt header; /* "APIC" */
	u32 lapic_address;
	u32 flags;
} __packed;
static_assert(sizeof(struct acpi_madt) == 44, "MADT");
#define ACPI_MADT_PCAT_COMPAT BIT(0)

enum acpi_madt_type {
	ACPI_MADT_LAPIC = 0,
	ACPI_MADT_IOAPIC = 1,
	ACPI_MADT_INT_OVERRIDE = 2,
	ACPI_MADT_LAPIC_NMI = 4,
	ACPI_MADT_LAPIC_ADDRESS = 5,
	ACPI_MADT_X2APIC = 9,
	ACPI_MADT_X2APIC_NMI = 10,
};

struct acpi_madt_lapic {
	struct acpi_sub sub;
	u8 uid;
	u8 apic_id;
	u32 flags;
} __packed;
static_assert(sizeof(struct acpi_madt_lapic) == 8, "MADT type 0");
#define ACPI_MADT_ENABLED BIT(0)

struct acpi_madt_ioapic {
	struct acpi_sub sub;
	u8 id;
	u8 reserved;
	u32 address;
	u32 gsi_base;
} __packed;
static_assert(sizeof(struct acpi_madt_ioapic) == 12, "MADT type 1");

struct acpi_madt_int_override {
	struct acpi_sub sub;
	u8 bus; /* 0: ISA */
	u8 source;
	u32 gsi;
	u16 flags;
} __packed;
static_assert(sizeof(struct acpi_madt_int_override) == 10, "MADT type 2");

/* MPS INTI flags, ACPI table 5.26. */
#define ACPI_INTI_POLARITY 0x3
#define ACPI_INTI_ACTIVE_LOW 0x3
#define ACPI_INTI_TRIGGER 0xc
#define ACPI_INTI_LEVEL 0xc

struct acpi_madt_lapic_nmi {
	struct acpi_sub sub;
	u8 uid; /* 0xff: all */
	u16 flags;
	u8 lint;
} __packed;
static_assert(sizeof(struct acpi_madt_lapic_nmi) == 6, "MADT type 4");

struct acpi_madt_lapic_address {
	struct acpi_sub sub;
	u16 reserved;
	u64 address;
} __packed;
static_assert(sizeof(struct acpi_madt_lapic_address) == 12, "MADT type 5");

struct acpi_madt_x2apic {
	struct acpi_sub sub;
	u16 reserved;
	u32 apic_id;
	u32 flags;
	u32 uid;
} __packed;
static_assert(sizeof(struct acpi_madt_x2apic) == 16, "MADT type 9");

struct acpi_madt_x2apic_nmi {
	struct acpi_sub sub;
	u16 flags;
	u32 uid; /* 0xffffffff: all */
	u8 lint;
	u8 reserved[3];
} __packed;
static_assert(sizeof(struct acpi_madt_x2apic_nmi) == 12, "MADT type 10");

/* System Resource Affinity Table, ACPI 5.2.16. */
struct acpi_srat {
	struct acpi_sdt header; /* "SRAT" */
	u32 table_revision;     /* 1 */
	u64 reserved;
} __packed;
static_assert(sizeof(struct acpi_srat) == 48, "SRAT");

enum acpi_srat_type { ACPI_SRAT_LAPIC = 0, ACPI_SRAT_MEMORY = 1, ACPI_SRAT_X2APIC = 2 };

struct acpi_srat_lapic {
	struct acpi_sub sub;
	u8 domain_lo;
	u8 apic_id;
	u32 flags;
	u8 sapic_eid;
	u8 domain_hi[3];
	u32 clock_domain;
} __packed;
static_assert(sizeof(struct acpi_srat_lapic) == 16, "SRAT type 0");

struct acpi_srat_memory {
	struct acpi_sub sub;
	u32 domain;
	u16 reserved0;
	u64 base;
	u64 size;
	u32 reserved1;
	u32 flags;
	u64 reserved2;
} __packed;
static_assert(sizeof(struct acpi_srat_memory) == 40, "SRAT type 1");

struct acpi_srat_x2apic {
	struct acpi_sub sub;
	u16 reserved0;
	u32 domain;
	u32 apic_id;
	u32 flags;
	u32 clock_domain;
	u32 reserved1;
} __packed;
static_assert(sizeof(struct acpi_srat_x2apic) == 24, "SRAT type 2");
#define ACPI_SRAT_ENABLED BIT(0)

/* System Locality Information Table, ACPI 5.2.17: a matrix of count * count bytes. */
struct acpi_slit {
	struct acpi_sdt header; /* "SLIT" */
	u64 count;
	u8 distance[];
} __packed;
static_assert(sizeof(struct acpi_slit) == 44, "SLIT");

/* PCI Express memory mapped configuration, PCI Firmware 3.2, table 4-2. */
struct acpi_mcfg_entry {
	u64 base; /* of bus 0, even when bus_start is not 0 */
	u16 segment;
	u8 bus_start;
	u8 bus_end; /* inclusive */
	u32 reserved;
} __packed;
static_assert(sizeof(struct acpi_mcfg_entry) == 16, "MCFG entry");

struct acpi_mcfg {
	struct acpi_sdt header; /* "MCFG" */
	u64 reserved;
	struct acpi_mcfg_entry entry[];
} __packed;
static_assert(sizeof(struct acpi_mcfg) == 44, "MCFG");

/* HPET description table, IA-PC HPET 1.0a, 3.2.4. */
struct acpi_hpet {
	struct acpi_sdt header; /* "HPET" */
	u32 event_timer_block_id;
	struct acpi_gas base;
	u8 number;
	u16 min_tick;
	u8 page_protection;
} __packed;
static_assert(sizeof(struct acpi_hpet) == 56, "HPET");

/* Serial Port Console Redirection Table, Microsoft's 1.10, as far as all revisions have it. */
struct acpi_spcr {
	struct acpi_sdt header; /* "SPCR" */
	u8 interface;
	u8 reserved[3];
	struct acpi_gas base;
	u8 interrupt;
	u8 irq;
	u32 gsi;
	u8 baud;
	u8 parity;
	u8 stop_bits;
	u8 flow_control;
	u8 terminal;
	u8 language;
	u16 pci_device;
	u16 pci_vendor;
	u8 pci_bus;
	u8 pci_slot;
	u8 pci_function;
	u32 pci_flags;
	u8 pci_segment;
	u32 clock;
} __packed;
static_assert(sizeof(struct acpi_spcr) == 80, "SPCR");

/*
 * SMBIOS (DMTF DSP0134 3.6, 6.1), kernel/acpi/smbios.c: the n-th structure of a type; *end: the two
 * zeros that end its strings, which begin p[1] bytes on. NULL: past the last, or behind what is
 * broken.
 */
const u8 *smbios_find(const void *table, size_t size, u8 type, unsigned n, const u8 **end);

#endif
