/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's ACPI tables: finds, maps and verifies them (ACPI 5.2), and keeps
 * what the pure readers (tables.h) made of them. Filled by acpi_init(),
 * read-only afterwards.
 */
#ifndef KERNEL_ACPI_ACPI_H
#define KERNEL_ACPI_ACPI_H

#include <margay/types.h>
#include "kernel/acpi/tables.h"
#include "kernel/boot/bootinfo.h"

/*
 * After paging_init(). 0, or -ENODEV (logged): no usable root pointer, and then
 * all of the below are NULL. A table that is malformed is logged and treated
 * as absent.
 */
int acpi_init(const struct bootinfo *bi);

/* A view of firmware memory, or NULL where there can be none. Boot only. */
const void *firmware_map(u64 pa, u64 size);

#if IS_ENABLED(CONFIG_SMBIOS)
/* Finds the table that host_smbios() gives. Once there are pages. */
void smbios_init(const struct bootinfo *bi);
#else
static inline void smbios_init(const struct bootinfo *) { }
#endif

/* The instance-th table of a signature, mapped whole and its checksum good, or NULL. */
const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance);

#if IS_ENABLED(CONFIG_HWCHECK)
/*
 * acpi_noted.c: what the firmware says, as it was read, in order: the root pointer, then RSDT or
 * XSDT, then the tables. In the direct map or the image, and there it stays. NULL past the last.
 */
struct acpi_piece {
	const void *p;
	size_t size;
};
const struct acpi_piece *acpi_noted(unsigned i);
/* As each is read. */
void acpi_note(const void *p, size_t size);
#else
static inline void acpi_note(const void *, size_t) { }
#endif

/* NULL: absent or malformed; the last two also without CONFIG_IOMMU_TABLES. */
extern struct acpi {
	const struct madt_info *madt;
	const struct srat_info *srat;
	const struct slit_info *slit;
	const struct mcfg_info *mcfg;
	const struct fadt_info *fadt;
	const struct hpet_info *hpet;
	const struct dmar_info *dmar;
	const struct ivrs_info *ivrs;
} acpi;

#endif
