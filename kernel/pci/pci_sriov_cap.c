/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see pci_sriov_cap.h. PCI Express Base 5.0, 9.2.1.2 (BARs), 9.3.3.8 to 9.3.3.14. */
#include "kernel/pci/pci_sriov_cap.h"

#include <margay/string.h>
#include "kernel/pci/pci_info.h"

#define PAGES_4K BIT(0) /* of the page sizes that it can have */

static u32 get(const struct pcicap_reader *r, const struct sriov *s, unsigned offset)
{
	return r->read32(r->ctx, (u16)(s->at + offset));
}

/* Each VF has a page of its own at least, or one VM's registers would lie in another's page. */
static const char *read_bars(const struct pcicap_reader *r,
			     void (*write)(void *ctx, u16 offset, u32 value), struct sriov *s)
{
	for (unsigned i = 0; i < PCI_ROM_BAR;) {
		struct pci_bar *b = &s->bar[i];
		u16 at = (u16)(s->at + PCI_SRIOV_BAR + 4 * i);

		i += pciinfo_bar(r, write, at, i == PCI_ROM_BAR - 1, b);
		if (!b->size)
			continue;
		if (pci_bar_is_io(b))
			return "its virtual functions have ports, which none may have";
		if (b->size < PAGE_SIZE)
			return "a BAR of its virtual functions is smaller than a page";
	}
	return NULL;
}

const char *sriov_read(const struct pcicap_reader *r,
		       void (*write)(void *ctx, u16 offset, u32 value), u16 at, struct sriov *out)
{
	u32 vfs, where;

	*out = (struct sriov){ .at = at };
	if (at < PCI_STANDARD_END || at + PCI_SRIOV_SIZE > PCI_EXTENDED_END)
		return "its SR-IOV capability ends beyond its configuration space";
	vfs = get(r, out, PCI_SRIOV_VFS);
	where = get(r, out, PCI_SRIOV_OFFSET);
	out->total = (u16)(vfs >> 16);
	out->offset = (u16)where;
	out->stride = (u16)(where >> 16);
	out->device = (u16)(get(r, out, PCI_SRIOV_DEVICE) >> 16);
	if (!out->total)
		return "it has no virtual functions";
	/* Others belong to VMs of several machines (MR-IOV), which nobody builds. */
	if ((vfs & 0xffff) != out->total)
		return "not all of its virtual functions are there at first";
	if (!(get(r, out, PCI_SRIOV_PAGES) & PAGES_4K))
		return "its virtual functions cannot have pages of 4 KiB";
	return read_bars(r, write, out);
}

bool sriov_address(const struct sriov *s, const struct pci_address *pf, unsigned n,
		   struct pci_address *out)
{
	u64 id = ((u64)pf->bus << 8 | pf->devfn) + s->offset + (u64)n * s->stride;

	*out = (struct pci_address){ pf->segment, (u8)(id >> 8), (u8)id };
	return id <= 0xffff;
}

const char *sriov_unfit(const struct sriov *s, const struct pci_address *pf, unsigned count,
			u8 last_bus)
{
	struct pci_address last;

	if (count > s->total)
		return "it has not so many virtual functions";
	if (!s->offset)
		return "its first virtual function has its own address";
	if (count > 1 && !s->stride)
		return "its virtual functions have all the same address";
	if (!sriov_address(s, pf, count - 1, &last) || last.bus > last_bus)
		return "its virtual functions need bus numbers that the bridge above it does not have: more in the setup (SR-IOV)";
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &s->bar[i];
		u64 end = b->base + (b->size ? b->size * count - 1 : 0);

		if (end < b->base || b->size > BIT(48) / count)
			return "the BARs of its virtual functions end beyond the address space";
	}
	return NULL;
}

void sriov_bars(const struct sriov *s, unsigned n, struct pci_bar bar[PCI_BARS])
{
	memset(bar, 0, sizeof(*bar) * PCI_BARS);
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		bar[i] = s->bar[i];
		if (bar[i].base)
			bar[i].base += bar[i].size * n;
	}
}
