/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_port.h. */
#include "kernel/pci/pci_port.h"

#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"

static struct spinlock config_lock; /* guards the address/data port pair */

static void choose(struct pci_address a, u16 offset)
{
	outl(PCI_CONFIG_ADDRESS,
	     (u32)(PCI_CONFIG_ENABLE | (u32)a.bus << 16 | (u32)a.devfn << 8 | (offset & 0xfcu)));
}

u32 pci_port_read(struct pci_address a, u16 offset, unsigned size)
{
	u16 port = (u16)(PCI_CONFIG_DATA + (offset & 3));
	u32 value;

	spin_lock(&config_lock);
	choose(a, offset);
	if (size == 1)
		value = inb(port);
	else if (size == 2)
		value = inw(port);
	else
		value = inl(port);
	spin_unlock(&config_lock);
	return value;
}

void pci_port_write(struct pci_address a, u16 offset, unsigned size, u32 value)
{
	u16 port = (u16)(PCI_CONFIG_DATA + (offset & 3));

	spin_lock(&config_lock);
	choose(a, offset);
	if (size == 1)
		outb(port, (u8)value);
	else if (size == 2)
		outw(port, (u16)value);
	else
		outl(port, value);
	spin_unlock(&config_lock);
}
