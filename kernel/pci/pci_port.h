/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Configuration mechanism 1 (PCI Local Bus 3.0, 3.2.2.3.2): the first 256 bytes of each function of
 * segment 0, by two ports, which need neither tables nor memory. Any CPU.
 */
#ifndef KERNEL_PCI_PORT_H
#define KERNEL_PCI_PORT_H

#include <margay/pci.h>

/*
 * Aligned accesses of 1, 2 or 4 bytes; what is not there reads as ones. Of the address, bus and
 * function count.
 */
u32 pci_port_read(struct pci_address a, u16 offset, unsigned size);
void pci_port_write(struct pci_address a, u16 offset, unsigned size, u32 value);

/*
 * Does this ID say that there is a function? Some host bridges answer for empty slots with zeros.
 */
static inline bool pci_answers(u32 id)
{
	return id && (id & 0xffff) != 0xffff;
}

#endif
