/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a virtual function's own configuration space leaves to the physical function's (PCI Express
 * Base 5.0, 9.3.4).
 */
#include <margay/host.h>
#include "kernel/pci/pci_function.h"

u32 pci_vf_read(unsigned index, u16 offset, unsigned size, u32 value)
{
	const struct pci_function *f = pci_get(index);
	u32 says = 0;

	/*
	 * Vendor and device ID read as ones (9.3.4.1.1, 9.3.4.1.2); while there is none, all does.
	 */
	if (!host_sriov_on(index))
		return value;
	if ((offset & ~3u) == PCI_REG_ID) {
		says = f->id.vendor | (u32)f->id.device << 16;
		value = 0;
	}
	/*
	 * In a guest its device may have others of the PF's, and nobody looks for them otherwise.
	 */
	if ((offset & ~3u) == PCI_REG_HEADER)
		says = PCI_HEADER_MULTI;
	says >>= (offset & 3) * 8;
	return value | (size == 4 ? says : says & (u32)(BIT(size * 8) - 1));
}
