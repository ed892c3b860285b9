/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's ACPI tables: from the root pointer to the parsed structs (ACPI 5.2). */
#include "kernel/acpi/acpi.h"

#include <margay/errno.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"

#define TABLE_MAX MIB(16) /* no real table is larger */
#define EBDA_SEGMENT 0x40e /* BIOS data area: real-mode segment of the extended one */
#define BIOS_AREA 0xe0000
#define BIOS_AREA_SIZE 0x20000

static const struct acpi_sdt *tables[XSDT_MAX + 1]; /* and the DSDT, which only the FADT names */
static unsigned nr_tables;

static struct madt_info madt;
static struct srat_info srat;
static struct slit_info slit;
static struct mcfg_info mcfg;
static struct fadt_info fadt;
static struct hpet_info hpet;
static struct dmar_info dmar;
static struct ivrs_info ivrs;
struct acpi acpi;

const void *firmware_map(u64 pa, u64 size)
{
	if (!pa || pa >= DIRECT_MAP_SIZE || size > DIRECT_MAP_SIZE - pa)
		return NULL;
	paging_map_ro(pa, size);
	return phys_to_virt(pa);
}

/* Maps a whole table; *length: what its header says. NULL (logged) when that is impossible. */
static const struct acpi_sdt *map_table(u64 pa, u32 *length)
{
	const struct acpi_sdt *t = firmware_map(pa, sizeof(*t));

	if (t) {
		*length = t->length;
		if (*length >= sizeof(*t) && *length <= TABLE_MAX)
			t = firmware_map(pa, *length);
		else
			t = NULL;
	}
	if (t)
		acpi_note(t, *length);
	else
		printk_error("acpi: table at %#lx: impossible address or length: ignored", pa);
	return t;
}

static void add_table(u64 pa)
{
	u32 length;
	const struct acpi_sdt *t = map_table(pa, &length);

	if (!t || nr_tables == ARRAY_SIZE(tables))
		return;
	if (!acpi_checksum_ok(t, length)) {
		printk_error("acpi: table %.4s at %#lx: wrong checksum: ignored", t->signature, pa);
		return;
	}
	printk_debug("acpi: %.4s at %#lx, %u bytes, revision %u", t->signature, pa, length,
		     t->revision);
	tables[nr_tables++] = t;
}

static bool scan_area(u64 pa, u64 size, struct rsdp_info *root)
{
	const u8 *area = firmware_map(pa, size);
	long at = area ? rsdp_scan(area, size) : -1;

	if (at < 0 || rsdp_read(area + at, size - (size_t)at, root))
		return false;
	acpi_note(area + at, MIN(size - (size_t)at, sizeof(struct acpi_rsdp)));
	return true;
}

/* For loaders that pass no root pointer on a BIOS machine: ACPI 5.2.5.1. */
static bool scan_bios(struct rsdp_info *root)
{
	u64 ebda;
	u16 segment;

	paging_map_ro(0, PAGE_SIZE);
	memcpy(&segment, phys_to_virt(EBDA_SEGMENT), sizeof(segment));
	ebda = (u64)segment << 4;
	if (ebda >= KIB(512) && ebda <= KIB(640) - KIB(1) && scan_area(ebda, KIB(1), root))
		return true;
	return scan_area(BIOS_AREA, BIOS_AREA_SIZE, root);
}

static bool find_root(const struct bootinfo *bi, struct rsdp_info *root)
{
	const char *reason = bi->has_rsdp ? rsdp_read(&bi->rsdp, sizeof(bi->rsdp), root)
					  : "none from the boot loader";

	if (!reason)
		acpi_note(&bi->rsdp, sizeof(bi->rsdp));
	if (!reason || scan_bios(root))
		return true;
	printk_error("acpi: no root pointer (%s): no tables", reason);
	return false;
}

/* Reports a table that its reader refused. */
static bool good(const char *signature, const char *reason)
{
	if (reason)
		printk_error("acpi: table %s: %s: ignored", signature, reason);
	return !reason;
}

static void read_madt(void)
{
	const struct acpi_sdt *t = acpi_table("APIC", 0);

	if (t && good("MADT", madt_read(t, t->length, &madt)))
		acpi.madt = &madt;
}

static void read_srat(void)
{
	const struct acpi_sdt *t = acpi_table("SRAT", 0);

	if (t && good("SRAT", srat_read(t, t->length, &srat)))
		acpi.srat = &srat;
}

static void read_slit(void)
{
	const struct acpi_sdt *t = acpi_table("SLIT", 0);

	if (t && good("SLIT", slit_read(t, t->length, &slit)))
		acpi.slit = &slit;
}

static void read_mcfg(void)
{
	const struct acpi_sdt *t = acpi_table("MCFG", 0);

	if (t && good("MCFG", mcfg_read(t, t->length, &mcfg)))
		acpi.mcfg = &mcfg;
}

static void read_fadt(void)
{
	const struct acpi_sdt *t = acpi_table("FACP", 0);

	if (t && good("FADT", fadt_read(t, t->length, &fadt)))
		acpi.fadt = &fadt;
}

static void read_hpet(void)
{
	const struct acpi_sdt *t = acpi_table("HPET", 0);

	if (t && good("HPET", hpet_table_read(t, t->length, &hpet)))
		acpi.hpet = &hpet;
}

static void read_dmar(void)
{
	const struct acpi_sdt *t = acpi_table("DMAR", 0);

	if (t && good("DMAR", dmar_read(t, t->length, &dmar)))
		acpi.dmar = &dmar;
}

static void read_ivrs(void)
{
	const struct acpi_sdt *t = acpi_table("IVRS", 0);

	if (t && good("IVRS", ivrs_read(t, t->length, &ivrs)))
		acpi.ivrs = &ivrs;
}

/* What the MADT names beyond what there is room for. */
static void tell_dropped(void)
{
	if (madt.dropped_cpus)
		printk_error("acpi: table MADT: %u processors beyond %u are not used",
			     madt.dropped_cpus, MADT_MAX_CPUS);
	if (IS_ENABLED(CONFIG_MACHINE_CHECKS) && madt.dropped_nmis)
		printk_error("acpi: table MADT: %u local NMIs beyond %u are not used",
			     madt.dropped_nmis, MADT_MAX_NMIS);
}

static void read_tables(void)
{
	read_madt();
	if (IS_ENABLED(CONFIG_NUMA)) {
		read_srat();
		read_slit();
	}
	if (IS_ENABLED(CONFIG_PCI))
		read_mcfg();
	read_fadt();
	read_hpet();
	if (IS_ENABLED(CONFIG_IOMMU_TABLES)) {
		read_dmar();
		read_ivrs();
	}
	if (acpi.fadt && fadt.dsdt)
		add_table(fadt.dsdt);
	if (acpi.madt)
		tell_dropped();
}

int acpi_init(const struct bootinfo *bi)
{
	static struct xsdt_info list; /* too large for the boot stack */
	const struct acpi_sdt *root_table;
	struct rsdp_info root;
	const char *name;
	u32 length;

	if (!find_root(bi, &root))
		return -ENODEV;
	root_table = map_table(root.table, &length);
	if (!root_table)
		return -ENODEV;
	name = root.is_xsdt ? "XSDT" : "RSDT";
	if (!good(name, xsdt_read(root_table, length, root.is_xsdt, &list)))
		return -ENODEV;
	if (list.dropped)
		printk_error("acpi: %u tables beyond %u are ignored", list.dropped, XSDT_MAX);
	for (unsigned i = 0; i < list.count; i++)
		add_table(list.table[i]);
	read_tables();
	return 0;
}

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	for (unsigned i = 0; i < nr_tables; i++)
		if (!memcmp(tables[i]->signature, signature, 4) && !instance--)
			return tables[i];
	return NULL;
}
