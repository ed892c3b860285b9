/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM's ACPI tables say of virtual functions (VFs). For its own that other VMs have: windows
 * of its root buses, and buses. Others' that it has itself: that they may go.
 */
#include "vmm/acpi/acpi_build.h"
#include "vmm/pci/vm_pci.h"

void guest_acpi_sriov(const struct vm_pci *pci, unsigned n, struct acpi_guest *out,
		      struct acpi_guest_window *windows, struct acpi_guest_root *roots)
{
	const struct host_pci_function *f = &pci->function[n];

	static_assert(ARRAY_SIZE(out->vf) == VM_PCI_FUNCTIONS, "room for all of a VM's functions");
	if (host_sriov_is_vf(f->index)) {
		out->vf[out->nr_vfs].bus = f->address.bus;
		out->vf[out->nr_vfs++].devfn = f->address.devfn;
	}
	for (unsigned k = 0; k < PCI_ROM_BAR; k++) {
		struct acpi_guest_window w = { .bus = f->address.bus };

		if (vm_pci_vf_window(pci, n, k, &w.base, &w.size))
			windows[out->nr_windows++] = w;
	}
	/* A guest looks for VFs within its root's buses alone. */
	while (roots->bus != f->address.bus)
		roots++;
	roots->last_bus = MAX(roots->last_bus, vm_pci_last_bus(f));
}
