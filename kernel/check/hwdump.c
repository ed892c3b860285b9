/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the firmware and the boot loader said of the machine, and its PCI functions, for the
 * hardware check's dump.
 */
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/boot/bootinfo.h"
#include "kernel/boot/cmdline.h"
#include "kernel/iommu/release.h"
#include "kernel/pci/pci_core.h"

#define IOMMU_REGISTERS 8 /* of 64 bits; none of them changes by being read */

static void dump_acpi(host_dump_item item)
{
	const struct acpi_piece *piece;

	for (unsigned i = 0; (piece = acpi_noted(i)); i++) {
		const char *name = i ? ((const struct acpi_sdt *)piece->p)->signature : "RSDP";
		/* These two hold a licence key. */
		bool secret = i && (!memcmp(name, "MSDM", 4) || !memcmp(name, "SLIC", 4));

		item(secret ? NULL : piece->p, piece->size, "acpi %.4s %lx", name,
		     virt_to_phys(piece->p));
	}
}

static void dump_iommu(host_dump_item item, u64 base)
{
	volatile u8 *r = mmio_map(base, PAGE_SIZE);
	u64 value[IOMMU_REGISTERS];

	if (!r)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(value); i++)
		value[i] = mmio_read64(r + 8 * i);
	item(value, sizeof(value), "iommu %lx", base);
}

static void dump_iommus(host_dump_item item)
{
	const struct dmar_info *dmar = acpi.dmar;
	const struct ivrs_info *ivrs = acpi.ivrs;
	char left[IOMMU_LEFT_TEXT];
	bool off;

	if (dmar)
		for (unsigned i = 0; i < dmar->nr_units; i++)
			if (dmar->unit[i].type == ACPI_DMAR_DRHD)
				dump_iommu(item, dmar->unit[i].base);
	if (ivrs)
		for (unsigned i = 0; i < ivrs->nr_iommus; i++)
			dump_iommu(item, ivrs->iommu[i].base);
	/* Which their registers do not show any more. */
	off = iommu_released(left);
	item(NULL, 0, "left-on %u %s", !off, left);
}

static void dump_function(host_dump_item item, const struct pci_function *f)
{
	static struct {
		u64 bar_size[PCI_BARS];
		u32 config[PCI_EXTENDED_END / 4];
	} d;
	unsigned size = f->extended ? PCI_EXTENDED_END : PCI_STANDARD_END;

	for (unsigned i = 0; i < PCI_BARS; i++)
		d.bar_size[i] = f->bar[i].size;
	for (unsigned at = 0; at < size; at += 4)
		d.config[at / 4] = pci_read(f->address, (u16)at, 4);
	item(&d, sizeof(d.bar_size) + size, "pci " PCI_FULL_FORMAT,
	     PCI_FULL_FORMAT_ARGS(f->address));
}

void host_dump(host_dump_item item)
{
	const struct bootinfo *bi = bootinfo_of_boot();
	const struct cmdline *c = cmdline_of_boot();
	const struct pci_function *f;

	item(NULL, 0, "console %u %lx", c->console, c->console_address);
	for (unsigned i = 0; i < bi->nr_ranges; i++)
		item(NULL, 0, "memory %lx %lx %u", bi->range[i].start, bi->range[i].end,
		     bi->range[i].type);
	dump_acpi(item);
	if (IS_ENABLED(CONFIG_IOMMU_TABLES))
		dump_iommus(item);
	for (unsigned i = 0; (f = pci_get(i)); i++)
		dump_function(item, f);
}
