/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorded functions behind ports and ECAM: the kernel's own way to find and to size them. See
 * replay.h.
 */
#include <stdlib.h>

#include "arch/x86_64/cpu/insn.h"
#include "kernel/acpi/acpi.h"
#include "tests/unit/replay.h"

/* of an address in ECAM as a pointer, which nobody follows */
#define ECAM_COOKIE 0x1000000000000ull

static u32 config_address;

static struct pci_address port_function(void)
{
	return (struct pci_address){ 0, (u8)(config_address >> 16), (u8)(config_address >> 8) };
}

static u16 port_offset(u16 port)
{
	return (u16)((config_address & 0xfc) | (port & 3));
}

static void port_out(u16 port, u32 value, unsigned size)
{
	if (port == PCI_CONFIG_ADDRESS)
		config_address = value;
	else
		replay_config_write(port_function(), port_offset(port), size, value);
}

/* Nothing of it is mapped for a VM here. */
extern const u8 image_start[], image_end[];
const u8 image_start[1], image_end[1];

u64 virt_to_phys(const void *)
{
	return 0;
}

#define outl(port, value) port_out(port, value, 4)
#define outw(port, value) port_out(port, value, 2)
#define outb(port, value) port_out(port, value, 1)
#define inl(port) replay_config_read(port_function(), port_offset(port), 4)
#define inw(port) (u16) replay_config_read(port_function(), port_offset(port), 2)
#define inb(port) (u8) replay_config_read(port_function(), port_offset(port), 1)

/* False: no ECAM has the address. */
static bool ecam_function(u64 pa, struct pci_address *a)
{
	const struct mcfg_info *m = acpi.mcfg;

	for (unsigned i = 0; m && i < m->count; i++) {
		u64 at = pa - m->entry[i].base;

		if (pa < m->entry[i].base || at >> 20 > m->entry[i].bus_end)
			continue;
		*a = (struct pci_address){ m->entry[i].segment, (u8)(at >> 20), (u8)(at >> 12) };
		return true;
	}
	return false;
}

void *mmio_map_type(u64 pa, u64 size, bool)
{
	struct pci_address a;

	if (ecam_function(pa, &a))
		return (void *)(ECAM_COOKIE + pa);
	/* The registers of an IOMMU, of which a few are recorded. */
	return (void *)(uintptr_t)replay_memory(pa, MIN(size, 64u));
}

static struct pci_address at_cookie(const volatile void *reg)
{
	struct pci_address a;

	if (!ecam_function((u64)reg - ECAM_COOKIE, &a))
		abort();
	return a;
}

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	return replay_config_read(at_cookie(reg), (u16)((u64)reg & 0xfff), size);
}

void host_mmio_write(volatile void *reg, unsigned size, u64 value)
{
	replay_config_write(at_cookie(reg), (u16)((u64)reg & 0xfff), size, (u32)value);
}

/* Facts of the node type are not recorded: the report says what the image knows by itself. */
const struct host_module *host_module(unsigned)
{
	return NULL;
}

#include "kernel/pci/pci_port.c"
#include "kernel/pci/pci_core.c"
#include "kernel/pci/pci_describe.c"
