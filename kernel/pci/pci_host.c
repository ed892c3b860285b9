/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI functions as VMs have them, by index: what they are, their configuration space, and device registers in memory. */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"

#define MAPPINGS 128

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	const struct pci_function *f = pci_get(i);

	if (!f)
		return false;
	*out = (struct host_pci_function){
		.index = i, .address = f->address, .id = f->id, .extended = f->extended, .node = pci_node(f),
	};
	pci_bars(f, out->bar);
	return true;
}

u32 host_pci_read(unsigned index, u16 offset, unsigned size)
{
	return pci_seen(index, offset, size, pci_read(pci_get(index)->address, offset, size));
}

void host_pci_write(unsigned index, u16 offset, unsigned size, u32 value)
{
	pci_write(pci_get(index)->address, offset, size, value);
}

unsigned host_pci_caps(unsigned index, struct pci_cap *cap, unsigned max)
{
	return pci_capabilities(pci_get(index), cap, max, NULL);
}

bool host_pci_ecam(u64 *base, u8 *last_bus)
{
	const struct mcfg_info *mcfg = acpi.mcfg;

	for (unsigned i = 0; mcfg && i < mcfg->count; i++) {
		if (mcfg->entry[i].segment || mcfg->entry[i].bus_start)
			continue;
		*base = mcfg->entry[i].base;
		*last_bus = mcfg->entry[i].bus_end;
		return true;
	}
	return false;
}

/* What the kernel maps it never unmaps, and a VM that restarts asks for the same again. */
volatile void *host_mmio_map(hpa_t pa, u64 size)
{
	static struct {
		u64 pa, size;
		void *va;
	} known[MAPPINGS];
	static struct spinlock lock; /* guards known[] and mmio_map(), which only boot calls otherwise */
	static unsigned count;
	void *va = NULL;

	spin_lock(&lock);
	for (unsigned i = 0; i < count && !va; i++)
		if (known[i].pa == pa.v && known[i].size == size)
			va = known[i].va;
	if (!va && count < MAPPINGS) {
		va = mmio_map(pa.v, size);
		known[count].pa = pa.v;
		known[count].size = size;
		known[count].va = va;
		count += va != NULL;
	}
	spin_unlock(&lock);
	return va;
}
