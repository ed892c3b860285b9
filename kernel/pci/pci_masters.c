/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See pci_masters.h. PCI Local Bus 3.0, 6.2.2; all buses are tried, as by pci_init() and for its
 * reasons.
 */
#include "kernel/pci/pci_masters.h"

#include "kernel/log/printk.h"
#include "kernel/pci/pci_port.h"

bool pci_serves_others(u8 header_type, u32 class_code)
{
	/* And event collectors. */
	const u32 needed = BIT(0) | BIT(2) | BIT(3) | BIT(4) | BIT(6) | BIT(7);
	u32 base = class_code >> 16, sub = class_code >> 8 & 0xff;

	return header_type != PCI_HEADER_FUNCTION || base == PCI_BASE_CLASS_BRIDGE ||
	       (base == PCI_BASE_CLASS_SYSTEM && sub < 8 && needed & BIT(sub));
}

static bool is_spared(u8 header_type, u32 class_code)
{
	return pci_serves_others(header_type, class_code) ||
	       class_code >> 16 == PCI_BASE_CLASS_DISPLAY || class_code >> 8 == PCI_CLASS_USB;
}

/*
 * False: it was none. What it has sent before has come where it goes when the register is read
 * again (3.2.5: reads push writes).
 */
static bool end_mastering(struct pci_address a)
{
	u32 command = pci_port_read(a, PCI_REG_COMMAND, 2);

	if (!(command & PCI_COMMAND_MASTER))
		return false;
	pci_port_write(a, PCI_REG_COMMAND, 2, command & ~(u32)PCI_COMMAND_MASTER);
	if (pci_port_read(a, PCI_REG_COMMAND, 2) & PCI_COMMAND_MASTER)
		printk_error("pci " PCI_FULL_FORMAT ": does not stop its bus mastering",
			     PCI_FULL_FORMAT_ARGS(a));
	return true;
}

/* How many of a device's functions were masters. */
static unsigned silence_device(u8 bus, unsigned device)
{
	unsigned functions = 1, count = 0;

	for (unsigned fn = 0; fn < functions; fn++) {
		struct pci_address a = { 0, bus, PCI_DEVFN(device, fn) };
		u32 header;

		if (!pci_answers(pci_port_read(a, PCI_REG_ID, 4)))
			continue;
		header = pci_port_read(a, PCI_REG_HEADER, 4);
		if (!fn && header & PCI_HEADER_MULTI)
			functions = 8;
		if (!is_spared(PCI_HEADER_TYPE(header), pci_port_read(a, PCI_REG_CLASS, 4) >> 8))
			count += end_mastering(a);
	}
	return count;
}

void pci_masters_off(void)
{
	unsigned count = 0;

	for (unsigned bus = 0; bus < 256; bus++)
		for (unsigned device = 0; device < 32; device++)
			count += silence_device((u8)bus, device);
	if (count)
		printk("pci: firmware left bus mastering on in %u function%s: off now", count,
		       count == 1 ? "" : "s");
}
