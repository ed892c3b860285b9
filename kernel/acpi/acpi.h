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

/* Only with CONFIG_SMBIOS: finds the table that host_smbios() gives. Once there are pages. */
void smbios_init(const struct bootinfo *bi);

/* The instance-th table of a signature, mapped whole and its checksum good, or NULL. */
const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance);

/* NULL when absent or malformed; the last two also without CONFIG_IOMMU_TABLES. */
const struct madt_info *acpi_madt(void);
const struct srat_info *acpi_srat(void);
const struct slit_info *acpi_slit(void);
const struct mcfg_info *acpi_mcfg(void);
const struct fadt_info *acpi_fadt(void);
const struct hpet_info *acpi_hpet(void);
const struct dmar_info *acpi_dmar(void);
const struct ivrs_info *acpi_ivrs(void);

#endif
