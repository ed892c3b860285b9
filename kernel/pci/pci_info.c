/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see pciinfo.h. */
#include "kernel/pci/pci_info.h"

typedef void (*write_fn)(void *ctx, u16 offset, u32 value);

static u32 get(const struct pcicap_reader *r, u16 offset)
{
	return r->read32(r->ctx, offset);
}

/*
 * What of a BAR's register stays when ones are written: its size is the lowest bit of the address
 * part.
 */
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

unsigned pciinfo_bar(const struct pcicap_reader *r, write_fn write32, u16 at, bool last,
		     struct pci_bar *bar)
{
	u32 low = get(r, at);
	u64 address_bits = ~PCI_BAR_FLAGS(low);

	bool wide;

	bar->flags = (u8)(low & ~address_bits);
	bar->base = low & address_bits;
	wide = pci_bar_is_64(bar) && !last;
	if (wide)
		bar->base |= (u64)get(r, (u16)(at + 4)) << 32;
	if (write32) {
		u64 mask = mask_of(r, write32, at, 0xffffffff) & address_bits;

		if (wide)
			mask |= (u64)mask_of(r, write32, (u16)(at + 4), 0xffffffff) << 32;
		/* Ports have 16 bits, whatever the register takes. */
		bar->size = size_of(pci_bar_is_io(bar) ? mask & 0xffff : mask);
	}
	return wide ? 2 : 1;
}

static void read_rom(const struct pcicap_reader *r, write_fn write32, u16 at, struct pci_bar *bar)
{
	bar->base = get(r, at) & ~PCI_ROM_FLAGS;
	if (write32)
		bar->size = size_of(mask_of(r, write32, at, ~PCI_ROM_FLAGS) & ~PCI_ROM_FLAGS);
}

static unsigned bars_of(u8 header_type)
{
	if (header_type == PCI_HEADER_FUNCTION)
		return 6;
	return header_type == PCI_HEADER_BRIDGE ? 2 : 0;
}

void pciinfo_bars(const struct pcicap_reader *r, void (*write)(void *ctx, u16 offset, u32 value),
		  u8 header_type, u32 class_code, struct pci_bar bar[PCI_BARS])
{
	unsigned count = bars_of(header_type);
	/* status bits are cleared by writing ones */
	u32 command = get(r, PCI_REG_COMMAND) & 0xffff;
	write_fn write32 = class_code >> 8 == PCI_CLASS_HOST_BRIDGE ? NULL : write;

	if (write32)
		write32(r->ctx, PCI_REG_COMMAND,
			command & ~(u32)(PCI_COMMAND_IO | PCI_COMMAND_MEMORY));
	for (unsigned i = 0; i < count;)
		i += pciinfo_bar(r, write32, (u16)(PCI_REG_BAR + 4 * i), i == count - 1, &bar[i]);
	if (count)
		read_rom(r, write32, header_type ? PCI_REG_BRIDGE_ROM : PCI_REG_ROM,
			 &bar[PCI_ROM_BAR]);
	if (write32)
		write32(r->ctx, PCI_REG_COMMAND, command);
}

static void read_standard(const struct pcicap_reader *r, u16 id, u16 at, struct pci_info *out)
{
	switch (id) {
	case PCI_CAP_PM:
		out->pm = true;
		out->pm_reset = !(get(r, at + PCI_PM_CONTROL) & PCI_PM_NO_SOFT_RESET);
		break;
	case PCI_CAP_MSI: out->msi = 1u << MIN(PCI_MSI_CAPABLE(get(r, at) >> 16), 5u); break;
	case PCI_CAP_MSIX: out->msix = (get(r, at) >> 16 & PCI_MSIX_SIZE) + 1; break;
	case PCI_CAP_EXP:
		out->pcie = true;
		out->type = (u8)PCI_EXP_TYPE(get(r, at) >> 16);
		out->flr = out->flr || get(r, at + PCI_EXP_DEVICE) & PCI_EXP_FLR;
		break;
	case PCI_CAP_AF: out->flr = out->flr || get(r, at) >> 24 & PCI_AF_FLR; break;
	}
}

static void read_extended(const struct pcicap_reader *r, u16 id, u16 at, struct pci_info *out)
{
	out->acs = out->acs || id == PCI_EXT_CAP_ACS;
	out->ats = out->ats || id == PCI_EXT_CAP_ATS;
	out->pri = out->pri || id == PCI_EXT_CAP_PRI;
	out->pasid = out->pasid || id == PCI_EXT_CAP_PASID;
	if (id == PCI_EXT_CAP_SRIOV) {
		out->vfs = get(r, at + PCI_SRIOV_VFS) >> 16;
		out->vfs_on = get(r, at + PCI_SRIOV_CONTROL) & PCI_SRIOV_ENABLE
				      ? get(r, at + PCI_SRIOV_NUM_VFS) & 0xffff
				      : 0;
	}
}

void pciinfo_read(const struct pcicap_reader *reader, struct pci_info *out)
{
	struct pci_cap cap[64];
	unsigned n = pcicap_walk(reader, cap, ARRAY_SIZE(cap), &out->problem);

	out->pin = (u8)(get(reader, PCI_REG_INTERRUPT) >> 8);
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
