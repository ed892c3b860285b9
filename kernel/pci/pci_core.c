/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PCI configuration access and enumeration. All bus numbers are probed one by
 * one instead of following bridges: root buses beyond bus 0 stand only in AML,
 * a probe that finds nothing costs a microsecond, and no bridge can send the
 * walk in circles.
 */
#include "kernel/pci/pci_core.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_info.h"
#include "kernel/pci/pci_platform.h"
#include "kernel/pci/pci_port.h"
#include "kernel/pci/pci_route.h"

#define CONFIG_NONE 0xffffffffu

static const struct mcfg_info *ecam;
static volatile u8 *window[MCFG_MAX]; /* of each entry, from its first bus on; NULL: not mapped */
struct pci_function pci_functions[HOST_PCI_FUNCTIONS];
unsigned pci_nr_functions;
static unsigned dropped;

/* The entry by which a bus is reached; -1: none. */
static int window_of(u16 segment, u8 bus)
{
	if (!ecam)
		return -1;
	for (unsigned i = 0; i < ecam->count; i++)
		if (window[i] && ecam->entry[i].segment == segment &&
		    bus >= ecam->entry[i].bus_start && bus <= ecam->entry[i].bus_end)
			return (int)i;
	return -1;
}

static volatile u8 *bus_window(u16 segment, u8 bus)
{
	int i = window_of(segment, bus);

	return i < 0 ? NULL : window[i] + (bus - ecam->entry[i].bus_start) * PCI_ECAM_BUS_SIZE;
}

static bool valid(u16 offset, unsigned size)
{
	return (size == 1 || size == 2 || size == 4) && IS_ALIGNED(offset, size) &&
	       offset < PCI_EXTENDED_END;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	volatile u8 *base = bus_window(a.segment, a.bus);

	if (!valid(offset, size))
		return CONFIG_NONE;
	if (base)
		return (u32)host_mmio_read(base + ((u32)a.devfn << PCI_ECAM_SHIFT | offset), size);
	return a.segment || offset >= PCI_STANDARD_END ? CONFIG_NONE
						       : pci_port_read(a, offset, size);
}

void pci_write(struct pci_address a, u16 offset, unsigned size, u32 value)
{
	volatile u8 *base = bus_window(a.segment, a.bus);

	if (!valid(offset, size))
		return;
	if (base)
		host_mmio_write(base + ((u32)a.devfn << PCI_ECAM_SHIFT | offset), size, value);
	else if (!a.segment && offset < PCI_STANDARD_END)
		pci_port_write(a, offset, size, value);
}

static void write_for_sizes(void *ctx, u16 offset, u32 value)
{
	const struct pci_function *f = ctx;

	pci_write(f->address, offset, 4, value);
}

static void describe(const struct pci_function *f)
{
	const char *problem;
	unsigned n = pci_capabilities(f, NULL, 0, &problem);

	printk_debug("pci " PCI_FULL_FORMAT ": %04x:%04x class %06x, %u capabilities",
		     PCI_FULL_FORMAT_ARGS(f->address), f->id.vendor, f->id.device, f->id.class_code,
		     n);
	if (problem)
		printk_error("pci " PCI_FULL_FORMAT ": %s", PCI_FULL_FORMAT_ARGS(f->address),
			     problem);
}

/* Adds the function if there is one; *multi: its device may have more. */
static bool probe(struct pci_address a, bool *multi)
{
	/* By ECAM other devices may answer where firmware tells of more buses than there are. */
	u32 id = a.segment ? pci_read(a, PCI_REG_ID, 4) : pci_port_read(a, PCI_REG_ID, 4), header;
	struct pci_function spare, *f;
	struct pcicap_reader reader;

	if (!pci_answers(id))
		return false;
	header = pci_read(a, PCI_REG_HEADER, 4);
	*multi = header & PCI_HEADER_MULTI;
	/* One for which there is no room is made quiet all the same. */
	if (pci_nr_functions == HOST_PCI_FUNCTIONS)
		dropped++;
	f = pci_nr_functions < HOST_PCI_FUNCTIONS ? &pci_functions[pci_nr_functions++] : &spare;
	*f = (struct pci_function){
		.address = a,
		.id = { (u16)id, (u16)(id >> 16), pci_read(a, PCI_REG_CLASS, 4) >> 8 },
		.header_type = PCI_HEADER_TYPE(header),
		.command = (u16)pci_read(a, PCI_REG_COMMAND, 4),
	};
	if (f->header_type == PCI_HEADER_BRIDGE) {
		u32 buses = pci_read(a, PCI_REG_BUSES, 4);

		f->secondary_bus = (u8)(buses >> 8);
		f->subordinate_bus = (u8)(buses >> 16);
	}
	f->extended = bus_window(a.segment, a.bus) && pci_find_cap(f, PCI_CAP_EXP) &&
		      pci_read(a, PCI_STANDARD_END, 4) != CONFIG_NONE;
	describe(f);
	reader = pci_reader(f);
	pciinfo_bars(&reader, write_for_sizes, f->header_type, f->id.class_code, f->bar);
	pci_keep_quiet(f);
	return true;
}

/*
 * Behind a PCI Express port there is one device (7.3.1); some answer to the numbers of all 32, and
 * would be there as often. Its functions have the devices' numbers, too, while the port passes them
 * on (ARI). The port's own bus has a lower number.
 */
static bool has_one_device(u16 segment, u8 bus)
{
	for (unsigned i = 0; i < pci_nr_functions; i++) {
		const struct pci_function *f = &pci_functions[i];
		u16 exp;
		u32 says, type;

		if (f->header_type != PCI_HEADER_BRIDGE || f->address.segment != segment ||
		    f->secondary_bus != bus || f->address.bus >= bus)
			continue;
		exp = pci_find_cap(f, PCI_CAP_EXP);
		says = exp ? pci_read(f->address, exp + PCI_EXP_CAPABILITIES, 2) : 0;
		type = PCI_EXP_TYPE(says);
		return (type == PCIE_ROOT_PORT || type == PCIE_DOWNSTREAM) &&
		       !((says & PCI_EXP_VERSION) > 1 &&
			 pci_read(f->address, exp + PCI_EXP_DEVICE_CONTROL2, 2) & PCI_EXP_ARI);
	}
	return false;
}

static void scan_bus(u16 segment, u8 bus)
{
	unsigned devices = has_one_device(segment, bus) ? 1 : 32;

	for (unsigned device = 0; device < devices; device++) {
		struct pci_address a = { segment, bus, PCI_DEVFN(device, 0) };
		bool multi = false, ignored;

		if (!probe(a, &multi) || !multi)
			continue;
		for (unsigned fn = 1; fn < 8; fn++) {
			a.devfn = PCI_DEVFN(device, fn);
			probe(a, &ignored);
		}
	}
}

/* Firmware may tell of an ECAM that is not there: does it show what mechanism 1 does? */
static bool shows_bus(volatile u8 *base, u8 bus)
{
	for (unsigned device = 0; device < 32; device++) {
		struct pci_address a = { 0, bus, PCI_DEVFN(device, 0) };
		u32 id = pci_port_read(a, PCI_REG_ID, 4);

		if (id != CONFIG_NONE)
			return host_mmio_read(base + ((u32)a.devfn << PCI_ECAM_SHIFT), 4) == id;
	}
	return true;
}

static void map_windows(void)
{
	for (unsigned i = 0; ecam && i < ecam->count; i++) {
		const struct mcfg_entry *e = &ecam->entry[i];
		u64 base = e->base + e->bus_start * PCI_ECAM_BUS_SIZE;
		volatile u8 *va =
			mmio_map(base, (e->bus_end - e->bus_start + 1u) * PCI_ECAM_BUS_SIZE);

		if (va && (e->segment || shows_bus(va, e->bus_start)))
			window[i] = va;
		else
			printk_error(
				"pci: segment %u, buses %02x-%02x: the MCFG's ECAM at %#lx %s: %s",
				e->segment, e->bus_start, e->bus_end, base,
				va ? "shows others than mechanism 1" : "cannot be mapped",
				e->segment ? "functions there are not found, and their DMA stays on"
					   : "mechanism 1 is used");
	}
}

/* Segment 0 is reachable by mechanism 1 whatever the MCFG says; the others only where it says. */
static void scan_other_segments(void)
{
	if (!ecam)
		return;
	for (unsigned i = 0; i < ecam->count; i++)
		for (unsigned bus = ecam->entry[i].bus_start; bus <= ecam->entry[i].bus_end; bus++)
			/*
			 * Of a bus that two entries name one counts: a function is not listed
			 * twice, for two VMs.
			 */
			if (ecam->entry[i].segment &&
			    window_of(ecam->entry[i].segment, (u8)bus) == (int)i)
				scan_bus(ecam->entry[i].segment, (u8)bus);
}

void pci_init(const struct mcfg_info *mcfg, const struct bootinfo *bi)
{
	ecam = mcfg;
	map_windows();
	pci_platform_init(mcfg, bi);
	for (unsigned bus = 0; bus < 256; bus++)
		scan_bus(0, (u8)bus);
	scan_other_segments();
	pci_route_init();
	printk("pci: %u functions, configuration by %s", pci_nr_functions,
	       pci_has_ecam() ? "ECAM" : "mechanism 1");
	if (dropped)
		printk_error("pci: %u functions beyond %u are not used", dropped,
			     HOST_PCI_FUNCTIONS);
}

const struct pci_function *pci_get(unsigned i)
{
	return i < pci_nr_functions ? &pci_functions[i] : NULL;
}

bool pci_has_ecam(void)
{
	return bus_window(pci_functions[0].address.segment, pci_functions[0].address.bus);
}

bool pci_reset_machine(const struct acpi_gas *gas, u8 value)
{
	struct pci_address a = { 0, 0,
				 PCI_DEVFN(gas->address >> 32 & 0x1f, gas->address >> 16 & 7) };

	if (!gas->address || gas->space_id != ACPI_SPACE_PCI_CONFIG)
		return false;
	pci_write(a, (u16)gas->address, 1, value);
	return true;
}
