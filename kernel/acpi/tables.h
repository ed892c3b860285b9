/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure modules: readers of ACPI tables, one file each (kernel/acpi/<table>.c).
 * Each takes a table as a bounded view, its header included, checks every
 * length against it, and fills a small struct. They return NULL, or a static
 * text that says what is wrong with the table; the struct is then unusable.
 */
#ifndef KERNEL_ACPI_TABLES_H
#define KERNEL_ACPI_TABLES_H

#include <margay/acpi_iommu.h>
#include <margay/types.h>

/* True when the bytes sum up to 0 (ACPI 5.2.2). */
bool acpi_checksum_ok(const void *table, size_t size);

/*
 * Checks a table's header: signature, length within [min, size], checksum. Copies out the `min`
 * bytes that any such table has.
 */
const char *acpi_read_fixed(const void *table, size_t size, const char signature[4], void *fixed,
			    size_t min);

/*
 * Calls read() for each entry of a table, from offset `at` to its end `end`, that has its length,
 * head included, in byte 1 (head = 2: struct acpi_sub) or in bytes 2 and 3 (head = 4), until one
 * returns what is wrong, which is returned.
 */
const char *acpi_read_entries(const void *table, size_t at, size_t end, size_t head,
			      const char *(*read)(const u8 *entry, size_t size, void *ctx),
			      void *ctx);

/*
 * smbios.c: looks for a good entry point on 16-byte boundaries. False: there is none. *table: the
 * structures' physical address; *length: their bytes, or at most so many.
 */
bool smbios_entry(const void *memory, size_t size, u64 *table, u32 *length);

/* rsdp.c */
struct rsdp_info {
	u64 table; /* physical address of the XSDT or RSDT */
	bool is_xsdt;
};
const char *rsdp_read(const void *rsdp, size_t size, struct rsdp_info *out);
/* Looks for a good RSDP on 16-byte boundaries; its offset, or -1. */
long rsdp_scan(const void *memory, size_t size);

/* xsdt.c: addresses of the tables; of an RSDT too. */
#define XSDT_MAX 96
struct xsdt_info {
	unsigned count;
	unsigned dropped; /* entries beyond XSDT_MAX */
	u64 table[XSDT_MAX];
};
const char *xsdt_read(const void *table, size_t size, bool is_xsdt, struct xsdt_info *out);

/* madt.c */
#define MADT_MAX_CPUS 4096
#define MADT_MAX_IOAPICS 64
#define MADT_MAX_NMIS 1024 /* firmware may list each processor */
struct madt_info {
	u64 lapic_address;
	bool pcat_compat; /* has 8259s, to be masked */
	unsigned nr_cpus; /* the enabled ones, as listed; an APIC ID occurs once */
	struct madt_cpu {
		u32 apic_id;
		u32 uid;
	} cpu[MADT_MAX_CPUS];
	unsigned dropped_cpus; /* beyond MADT_MAX_CPUS */
	unsigned nr_ioapics;
	struct madt_ioapic {
		u8 id;
		u32 gsi_base;
		u64 address;
	} ioapic[MADT_MAX_IOAPICS];
	/*
	 * ISA interrupt -> GSI and MPS INTI flags (ACPI_INTI_*), overrides applied; 0: as the bus,
	 * edge and active high.
	 */
	struct {
		u32 gsi;
		u16 flags;
	} isa[16];
	unsigned nr_nmis; /* local interrupt inputs that are NMI */
	unsigned dropped_nmis; /* beyond MADT_MAX_NMIS */
	struct madt_nmi {
		bool all;
		u32 uid;
		u8 lint;
		u16 flags;
	} nmi[MADT_MAX_NMIS];
};
const char *madt_read(const void *table, size_t size, struct madt_info *out);
/* Is nmi[i] one of the CPU with that APIC ID? */
bool madt_nmi_is_of(const struct madt_info *m, unsigned i, u32 apic_id);

/* srat.c: enabled entries only. */
#define SRAT_MAX_CPUS 4096
#define SRAT_MAX_MEMORY 256
struct srat_info {
	u8 revision; /* of the table */
	unsigned nr_cpus;
	struct srat_cpu {
		u32 apic_id;
		u32 domain;
	} cpu[SRAT_MAX_CPUS];
	unsigned nr_memory;
	struct srat_memory {
		u64 base;
		u64 size;
		u32 domain;
	} memory[SRAT_MAX_MEMORY];
};
const char *srat_read(const void *table, size_t size, struct srat_info *out);

/* slit.c */
#define SLIT_MAX 64
struct slit_info {
	unsigned count;
	u8 distance[SLIT_MAX * SLIT_MAX]; /* [from * count + to], by proximity domain */
};
const char *slit_read(const void *table, size_t size, struct slit_info *out);

/* mcfg.c */
#define MCFG_MAX 64
struct mcfg_info {
	unsigned count;
	struct mcfg_entry {
		u64 base; /* of bus 0 */
		u16 segment;
		/* inclusive */
		u8 bus_start;
		u8 bus_end;
	} entry[MCFG_MAX];
};
const char *mcfg_read(const void *table, size_t size, struct mcfg_info *out);

/* fadt.c: registers with the X_ fields preferred; address 0: absent. */
struct fadt_info {
	u32 flags; /* ACPI_FADT_* */
	u16 boot_arch;
	u8 century; /* CMOS index of the century, or 0 */
	u64 dsdt; /* physical */
	u32 smi_cmd;
	u8 acpi_enable;
	struct acpi_gas pm1a_cnt;
	struct acpi_gas pm1b_cnt;
	struct acpi_gas pm_tmr;
	struct acpi_gas sleep_control;
	struct acpi_gas sleep_status;
	struct acpi_gas reset_reg;
	u8 reset_value;
};
const char *fadt_read(const void *table, size_t size, struct fadt_info *out);

/* hpet_table.c */
struct hpet_info {
	u64 base; /* physical, MMIO */
	u8 number;
};
const char *hpet_table_read(const void *table, size_t size, struct hpet_info *out);

/* dmar.c */
#define DMAR_MAX_UNITS 64
#define DMAR_MAX_STRUCTURES 128
#define DMAR_MAX_SCOPES 512
#define DMAR_MAX_PATH 8
struct dmar_scope {
	u16 type; /* DMAR_SCOPE_* */
	u8 enumeration_id;
	u8 start_bus;
	u8 depth;
	struct acpi_dmar_path path[DMAR_MAX_PATH];
	/* those below: requester IDs */
	u16 first;
	u16 last;
	u8 settings; /* ACPI_IVHD_SETTINGS */
};
/*
 * As in struct acpi_dmar_scope; the last two are no table's, but what kernel/iommu/ivrs_units.c
 * makes of an IVRS.
 */
enum {
	DMAR_SCOPE_ENDPOINT = 1,
	DMAR_SCOPE_BRIDGE,
	DMAR_SCOPE_IOAPIC,
	DMAR_SCOPE_HPET,
	DMAR_SCOPE_RANGE = 0x100,
	DMAR_SCOPE_ALIAS
};
struct dmar_unit {
	u16 type; /* DRHD, RMRR; SATC of functions that do not work without ATS */
	u8 flags;
	u16 segment;
	u64 base; /* DRHD: registers; RMRR: first byte */
	u64 limit; /* RMRR: last byte */
	u32 domain; /* DRHD: proximity, as a RHSA says; ~0: none does */
	unsigned first_scope;
	unsigned nr_scopes;
	/*
	 * of an IVRS: the unit's own requester ID; its links by IVHD flags; settings of all that it
	 * has
	 */
	u16 function;
	u8 hints;
	u8 settings;
};
struct dmar_info {
	u8 address_width; /* bits */
	u8 flags;
	/* lost: DRHDs for which there is no room here */
	unsigned nr_units;
	unsigned lost;
	struct dmar_unit unit[DMAR_MAX_STRUCTURES]; /* DRHDs are all below DMAR_MAX_UNITS */
	unsigned nr_scopes;
	struct dmar_scope scope[DMAR_MAX_SCOPES];
};
const char *dmar_read(const void *table, size_t size, struct dmar_info *out);

/* ivrs.c */
#define IVRS_MAX_IOMMUS 64
#define IVRS_MAX_MEMORY 64
struct ivrs_info {
	u32 iv_info;
	unsigned nr_iommus; /* one per IOMMU: of its blocks the one with the highest type */
	struct ivrs_iommu {
		u8 type;
		u8 flags;
		u16 device_id;
		u16 capability;
		u16 segment;
		u64 base;
		u64 efr; /* types 11h and 40h, else 0 */
		/* device entries, within the table; their lengths are checked */
		u32 entries_offset;
		u32 entries_size;
	} iommu[IVRS_MAX_IOMMUS];
	unsigned nr_memory;
	struct ivrs_memory {
		u8 type;
		u8 flags;
		/* device IDs */
		u16 first;
		u16 last;

		u16 segment;
		u64 base;
		u64 size;
	} memory[IVRS_MAX_MEMORY];
};
const char *ivrs_read(const void *table, size_t size, struct ivrs_info *out);
/*
 * Length of the device entry that starts with these bytes, or 0: it does not fit. AMD IOMMU
 * 5.2.2.1.
 */
size_t ivrs_entry_length(const u8 *entry, size_t left);

#endif
