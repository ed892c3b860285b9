/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_platform.h. */
#include "kernel/pci/pci_platform.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/boot/cmdline.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_route.h"

/*
 * I/O APICs, HPET, TPM, IOMMUs, local APICs and MSI: no PCI function's, by the habit of all
 * chipsets.
 */
#define CHIPSET_START 0xfec00000u
#define CHIPSET_END 0xfef00000u
/*
 * Chipsets decode the firmware's flash there, as much as there can be of it: the CPU's first
 * instruction is at its end.
 */
#define FLASH_START 0xff000000u
#define FLASH_END GIB(4)
/* The ports below are the board's (ISA). */
#define ISA_END 0x400
#define PORTS_END 0x10000

#define IOAPIC_SIZE PAGE_SIZE
#define HPET_SIZE KIB(1)
#define VTD_SIZE KIB(16) /* as far as its offsets reach (VT-d 4.0, 11.4.2, 11.4.3) */
/* 512 KiB of a unit that counts events, and has them aligned to that (3.07, 3.4) */
#define AMDVI_SIZE KIB(16)
#define AMDVI_COUNTING KIB(512)
#define CONSOLE_SIZE 8
#define FIXED 24 /* all that there is once or twice */

enum kind { REGISTERS, FLASH, CONSOLE };

static const char *const over[] = {
	[REGISTERS] = "one of its BARs lies over registers of the platform",
	[FLASH] = "one of its BARs lies over the firmware's flash",
	[CONSOLE] = "it is the hypervisor's console",
};

static struct {
	u64 start;
	u64 size;
	enum kind kind;
	bool io;
} list[MCFG_MAX + MADT_MAX_IOAPICS + DMAR_MAX_UNITS + IVRS_MAX_IOMMUS + FIXED];
static unsigned count;
static const struct bootinfo *memory;

static bool meets(u64 base, u64 size, u64 start, u64 length)
{
	return base < start + length && start < base + size;
}

/* ---- the list --------------------------------------------------------------------------- */

/*
 * A table that has registers in memory lies: that costs no VM its memory, and no BAR may lie there
 * anyway.
 */
static void add(enum kind kind, bool io, u64 start, u64 size)
{
	if (!io && bootinfo_is_usable(memory, start, start + size))
		return;
	if (count == ARRAY_SIZE(list)) {
		printk_error(
			"pci: more registers of the platform than fit: those at %#lx are not guarded",
			start);
		return;
	}
	list[count].start = start;
	list[count].size = size;
	list[count].kind = kind;
	list[count++].io = io;
}

static void add_gas(const struct acpi_gas *gas)
{
	u64 size = MAX(gas->bit_width / 8u, 1u);

	if (gas->address && (gas->space_id == ACPI_SPACE_MEMORY || gas->space_id == ACPI_SPACE_IO))
		add(REGISTERS, gas->space_id == ACPI_SPACE_IO, gas->address, size);
}

/* Whoever writes these stops or resets the machine. */
static void add_power(const struct fadt_info *f)
{
	const struct acpi_gas *const all[] = {
		&f->pm1a_cnt,      &f->pm1b_cnt,     &f->pm_tmr,
		&f->sleep_control, &f->sleep_status, &f->reset_reg,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		add_gas(all[i]);
}

static void add_interrupts(const struct madt_info *m)
{
	add(REGISTERS, false, m->lapic_address, PAGE_SIZE);
	for (unsigned i = 0; i < m->nr_ioapics; i++)
		add(REGISTERS, false, m->ioapic[i].address, IOAPIC_SIZE);
}

static void add_iommus(const struct dmar_info *d, const struct ivrs_info *iv)
{
	if (d)
		for (unsigned i = 0; i < d->nr_units; i++)
			if (d->unit[i].type == ACPI_DMAR_DRHD)
				add(REGISTERS, false, d->unit[i].base, VTD_SIZE);
	if (iv)
		for (unsigned i = 0; i < iv->nr_iommus; i++)
			add(REGISTERS, false, iv->iommu[i].base,
			    IS_ALIGNED(iv->iommu[i].base, AMDVI_COUNTING) ? AMDVI_COUNTING
									  : AMDVI_SIZE);
}

void pci_platform_init(const struct mcfg_info *mcfg, const struct bootinfo *bi)
{
	const struct cmdline *c = cmdline_of_boot();

	memory = bi;
	count = 0;
	/* First what says most of itself. */
	if (c->console == CMDLINE_CONSOLE_PORT || c->console == CMDLINE_CONSOLE_MMIO)
		add(CONSOLE, c->console == CMDLINE_CONSOLE_PORT, c->console_address,
		    c->console_wide ? 4 * CONSOLE_SIZE : CONSOLE_SIZE);
	add(FLASH, false, FLASH_START, FLASH_END - FLASH_START);
	add(REGISTERS, false, CHIPSET_START, CHIPSET_END - CHIPSET_START);
	add(REGISTERS, true, 0, ISA_END);
	add(REGISTERS, true, PCI_CONFIG_ADDRESS, 8);
	for (unsigned i = 0; mcfg && i < mcfg->count; i++) {
		const struct mcfg_entry *e = &mcfg->entry[i];

		add(REGISTERS, false, e->base + e->bus_start * PCI_ECAM_BUS_SIZE,
		    (e->bus_end - e->bus_start + 1u) * PCI_ECAM_BUS_SIZE);
	}
	if (acpi.madt)
		add_interrupts(acpi.madt);
	if (acpi.hpet)
		add(REGISTERS, false, acpi.hpet->base, HPET_SIZE);
	if (acpi.fadt)
		add_power(acpi.fadt);
	add_iommus(acpi.dmar, acpi.ivrs);
}

/* ---- who asks --------------------------------------------------------------------------- */

static const char *listed(bool io, u64 base, u64 size)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].io == io && meets(base, size, list[i].start, list[i].size))
			return over[list[i].kind];
	return NULL;
}

/*
 * The firmware's map, and the hypervisor's image in it, whose rest is in what is usable. What is
 * just reserved may be the window in which the BARs are, but only where the tables say so.
 */
static const char *in_map(u64 base, u64 size)
{
	for (unsigned i = 0; i < memory->nr_ranges; i++) {
		const struct boot_range *r = &memory->range[i];

		if (!meets(base, size, r->start, r->end - r->start))
			continue;
		if (r->type != BOOT_MEMORY_RESERVED)
			return "one of its BARs lies over memory";
		if (!pci_in_any_window(base, size))
			return "one of its BARs lies over what the firmware has reserved";
	}
	return NULL;
}

const char *pci_platform_at(bool io, u64 base, u64 size)
{
	const char *what = listed(io, base, size);

	if (what || !io)
		return what ? what : in_map(base, size);
	return base + size > PORTS_END ? over[REGISTERS] : NULL;
}

bool pci_platform_registers(u64 base, u64 size)
{
	return listed(false, base, size);
}

/* A VM's memory is usable memory, all of it, and none of the image. */
static bool is_usable(u64 base, u64 size)
{
	extern const u8 image_start[], image_end[];

	for (unsigned i = 0; i < memory->nr_ranges; i++) {
		const struct boot_range *r = &memory->range[i];

		if (r->type == BOOT_MEMORY_USABLE && r->start <= base && base + size - 1 < r->end)
			return !meets(base, size, virt_to_phys(image_start),
				      (u64)(image_end - image_start));
	}
	return false;
}

bool host_may_map(hpa_t pa, u64 size, bool ram)
{
	if (!size || pa.v + size - 1 < pa.v)
		return false;
	return ram ? is_usable(pa.v, size) : !pci_platform_at(false, pa.v, size);
}

bool host_may_open(u64 port, u64 ports)
{
	return ports && !pci_platform_at(true, port, ports);
}
