/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives a VM its ACPI tables: collects its CPUs, RAM and NUMA nodes for the pure builder
 * (acpi_build.h).
 */
#ifndef VMM_GUEST_ACPI_H
#define VMM_GUEST_ACPI_H

struct vm;

/*
 * Builds the tables into guest RAM at GUEST_ACPI_BASE and sets vm->rsdp. The
 * VM's map and vCPUs are complete, none runs. 0; -ENOMEM: no RAM there;
 * -ENOSPC: the tables do not fit (both printed).
 */
int guest_acpi_build(struct vm *vm);

#endif
