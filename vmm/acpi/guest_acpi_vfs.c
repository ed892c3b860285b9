/* SPDX-License-Identifier: GPL-2.0-only */
/* Windows of a VM's root buses for the registers of virtual functions (VFs) of its own that other VMs have. */
#include "vmm/acpi/acpi_build.h"
#include "vmm/pci/vm_pci.h"

unsigned guest_acpi_vf_windows(const struct vm_pci *pci, unsigned n, struct acpi_guest_window *out)
{
	unsigned nr = 0;

	for (unsigned k = 0; k < PCI_ROM_BAR; k++) {
		struct acpi_guest_window w = { .bus = pci->function[n].address.bus };

		if (vm_pci_vf_window(pci, n, k, &w.base, &w.size))
			out[nr++] = w;
	}
	return nr;
}
