/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's IOMMUs and what functions reach through them. <margay/host_pci.h> has what the monitor asks for. One lock
 * inside; any CPU.
 */
#ifndef KERNEL_IOMMU_H
#define KERNEL_IOMMU_H

#include "arch/x86_64/iommu/iommu_ops.h"
#include "kernel/acpi/tables.h"
#include "kernel/pci/pci_core.h"

/*
 * Takes over the units that firmware's tables name, with all functions blocked but those for which it has reserved memory;
 * in a check, or where the command line says so, no unit is used. After pci_init(), before anything is interrupted. Logs.
 */
#if IS_ENABLED(CONFIG_IOMMU)
void iommu_init(void);
#else
static inline void iommu_init(void)
{
}
#endif

/* dmar_scope.c: does a structure of the DMAR (a DRHD, an RMRR) name the function, or a bridge above it? */
bool dmar_names(const struct dmar_info *d, const struct dmar_unit *u, const struct pci_function *f);
/* dmar_scope.c: index of the DRHD that is responsible for a function; -1: none. */
int dmar_unit_of(const struct dmar_info *d, const struct pci_function *f);

#endif
