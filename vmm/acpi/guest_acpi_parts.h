/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to vmm/acpi/: what a VM's ACPI tables say, and who collects which part of it. */
#ifndef VMM_GUEST_ACPI_PARTS_H
#define VMM_GUEST_ACPI_PARTS_H

#include "vmm/acpi/acpi_build.h"
#include "vmm/memory/gpa_map.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm.h"

/* Windows that a function may have for its VFs. */
#if IS_ENABLED(CONFIG_SRIOV)
#define ACPI_VF_BARS PCI_ROM_BAR
#else
#define ACPI_VF_BARS 0
#endif

/* Everything the builder takes; too big for the stack. */
struct acpi_collected {
	struct acpi_guest guest;
	int host_node[ACPI_GUEST_MAX_NODES]; /* by proximity domain */
	u8 distances[ACPI_GUEST_MAX_NODES * ACPI_GUEST_MAX_NODES];
	struct acpi_guest_cpu cpu[VM_MAX_VCPUS];
	struct acpi_guest_memory memory[GPA_MAP_MAX + 1];
	struct acpi_guest_root root[VM_PCI_FUNCTIONS + 2];
	struct acpi_guest_window
		window[VM_PCI_FUNCTIONS * (PCI_BARS + ACPI_VF_BARS) + PCI_VIRTUAL_MAX];
	struct acpi_guest_intx intx[VM_PCI_FUNCTIONS];
};

#if IS_ENABLED(CONFIG_NUMA)
/* guest_acpi_nodes.c: the nodes, and how far they are from each other. */
void guest_acpi_nodes(struct acpi_collected *c, const struct vm *vm);
/* The proximity domain that one of the host's has become. */
u32 guest_acpi_domain(const struct acpi_collected *c, int host_node);
#else
/* All is one. */
static inline void guest_acpi_nodes(struct acpi_collected *c, const struct vm *)
{
	c->guest.nr_nodes = 1;
}

static inline u32 guest_acpi_domain(const struct acpi_collected *, int)
{
	return 0;
}
#endif

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/* guest_acpi_pci.c: its functions, and the windows of their DMA. Behind the nodes. */
void guest_acpi_pci(struct acpi_collected *c, const struct vm *vm);
#else
static inline void guest_acpi_pci(struct acpi_collected *, const struct vm *) { }
#endif

#endif
