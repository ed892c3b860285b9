/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What firmware left on in the machine's IOMMUs, in each image: it would go on keeping devices from
 * memory that is a VM's now, drop their interrupts, and translate by tables in memory that is
 * somebody else's.
 */
#ifndef KERNEL_IOMMU_RELEASE_H
#define KERNEL_IOMMU_RELEASE_H

#include <margay/types.h>

#define IOMMU_LEFT_TEXT 64

/*
 * Switches off DMA translation, protected memory and interrupt remapping of all units that the DMAR
 * or the IVRS names, as far as these can be read. After acpi_init(), with devices stopped
 * (pci_masters_off()), and before any page but of page tables is given to anyone. Logs what was on.
 */
void iommu_release(void);

/* What that has found, in words; "": nothing. False: some of it is still on. */
bool iommu_released(char text[IOMMU_LEFT_TEXT]);

#endif
