/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see pciinfo.h. */
#include "kernel/pci/pciinfo.h"

enum {
	REG_COMMAND = 0x04, REG_BAR0 = 0x10, REG_ROM = 0x30, REG_ROM_BRIDGE = 0x38, REG_INTERRUPT = 0x3c,
};
#define COMMAND_DECODE 0x3u /* I/O and memory space */
#define BAR_IO 0x1u
#define BAR_TYPE 0x6u
#define BAR_WIDE 0x4u
#define BAR_PREFETCH 0x8u
#define ROM_ENABLE 0x1u

typedef void (*write_fn)(void *ctx, u16 offset, u32 value);

static u32 get(const struct pcicap_reader *r, u16 offset)
{
	return r->read32(r->ctx, offset);
}

/* What of a BAR's register stays when ones are written: its size is the lowest bit of the address part. */
static u32 mask_of(const struct pcicap_reader *r, write_fn write32, u16 at, u32 ones)
{
	u32 old = get(r, at), mask;

	write32(r->ctx, at, ones);
	mask = get(r, at);
	write32(r->ctx, at, old);
	return mask;
}

static u64 size_of(u64 mask)
{
	return mask & -mask;
}

/* One BAR; how many registers it takes. */
static unsigned read_bar(const struct pcicap_reader *r, write_fn write32, u16 at, bool last, struct pci_bar *bar)
{
	u32 low = get(r, at);
	u64 address_bits = low & BAR_IO ? 0xfffffffcu : 0xfffffff0u;

	bar->flags = (u8)(low & ~address_bits);
	bar->io = low & BAR_IO;
	bar->wide = !bar->io && (low & BAR_TYPE) == BAR_WIDE && !last;
	bar->prefetch = !bar->io && low & BAR_PREFETCH;
	bar->base = low & address_bits;
	if (bar->wide)
		bar->base |= (u64)get(r, (u16)(at + 4)) << 32;
	if (write32) {
		u64 mask = mask_of(r, write32, at, 0xffffffff) & address_bits;

		if (bar->wide)
			mask |= (u64)mask_of(r, write32, (u16)(at + 4), 0xffffffff) << 32;
		/* Ports have 16 bits, whatever the register takes. */
		bar->size = size_of(bar->io ? mask & 0xffff : mask);
	}
	bar->there = bar->size || bar->base;
	bar->wanting = bar->size && !bar->base;
	return bar->wide ? 2 : 1;
}

static void read_rom(const struct pcicap_reader *r, write_fn write32, u16 at, struct pci_bar *bar)
{
	bar->base = get(r, at) & 0xfffff800u;
	if (write32)
		bar->size = size_of(mask_of(r, write32, at, 0xfffff800u) & 0xfffff800u);
	/* A ROM without an address is the rule: firmware that has read it takes the address back. */
	bar->there = bar->size || bar->base;
}

void pciinfo_bars(const struct pcicap_reader *r, void (*write)(void *ctx, u16 offset, u32 value), u8 header_type, u32 class_code,
		  struct pci_bar bar[PCI_INFO_BARS])
{
	unsigned count = header_type == 0 ? 6 : header_type == 1 ? 2 : 0;
	u32 command = get(r, REG_COMMAND) & 0xffff; /* status bits are cleared by writing ones */
	write_fn write32 = class_code >> 8 == PCI_CLASS_HOST_BRIDGE ? NULL : write;

	if (write32)
		write32(r->ctx, REG_COMMAND, command & ~COMMAND_DECODE);
	for (unsigned i = 0; i < count;)
		i += read_bar(r, write32, (u16)(REG_BAR0 + 4 * i), i == count - 1, &bar[i]);
	if (count)
		read_rom(r, write32, header_type ? REG_ROM_BRIDGE : REG_ROM, &bar[PCI_INFO_ROM]);
	if (write32)
		write32(r->ctx, REG_COMMAND, command);
}

static void read_standard(const struct pcicap_reader *r, u16 id, u16 at, struct pci_info *out)
{
	switch (id) {
	case PCI_CAP_PM:
		out->pm = true;
		out->pm_reset = !(get(r, at + 4) & BIT(3));
		break;
	case PCI_CAP_MSI:
		out->msi = 1u << MIN(get(r, at) >> 17 & 7, 5u);
		break;
	case PCI_CAP_MSIX:
		out->msix = (get(r, at) >> 16 & 0x7ff) + 1;
		break;
	case PCI_CAP_EXP:
		out->pcie = true;
		out->type = (u8)(get(r, at) >> 20 & 0xf);
		out->flr = out->flr || get(r, at + 4) & BIT(28);
		break;
	case PCI_CAP_AF:
		out->flr = out->flr || get(r, at) & BIT(25);
		break;
	}
}

static void read_extended(const struct pcicap_reader *r, u16 id, u16 at, struct pci_info *out)
{
	switch (id) {
	case PCI_EXT_CAP_ACS:
		out->acs = true;
		break;
	case PCI_EXT_CAP_ATS:
		out->ats = true;
		break;
	case PCI_EXT_CAP_PRI:
		out->pri = true;
		break;
	case PCI_EXT_CAP_PASID:
		out->pasid = true;
		break;
	case PCI_EXT_CAP_SRIOV:
		out->vfs = get(r, at + 0xc) >> 16;
		out->vfs_on = get(r, at + 8) & 1 ? get(r, at + 0x10) & 0xffff : 0;
		break;
	}
}

void pciinfo_read(const struct pcicap_reader *reader, struct pci_info *out)
{
	struct pcicap cap[64];
	unsigned n = pcicap_walk(reader, cap, ARRAY_SIZE(cap), &out->problem);

	out->pin = (u8)(get(reader, REG_INTERRUPT) >> 8);
	if (out->pin > 4)
		out->pin = 0;
	for (unsigned i = 0; i < MIN(n, ARRAY_SIZE(cap)); i++) {
		if (cap[i].extended)
			read_extended(reader, cap[i].id, cap[i].offset, out);
		else
			read_standard(reader, cap[i].id, cap[i].offset, out);
	}
	out->cut_off = out->pcie && !reader->extended;
}
