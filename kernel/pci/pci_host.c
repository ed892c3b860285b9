/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PCI functions as VMs have them, by index: what they are, their configuration space, and device
 * registers in memory.
 */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/memory/pmem.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_path.h"
#include "kernel/pci/pci_route.h"

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	const struct pci_function *f = pci_get(i);

	if (!f)
		return false;
	*out = (struct host_pci_function){
		.index = i,
		.address = f->address,
		.id = f->id,
		.extended = f->extended,
		.node = pci_node(f),
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

unsigned host_pci_path(unsigned index)
{
	return pci_path(pci_get(index));
}

bool host_pci_ecam(u64 *base, u8 *last_bus)
{
	const struct mcfg_info *mcfg = acpi.mcfg;

	if (!mcfg)
		return false;
	for (unsigned i = 0; i < mcfg->count; i++) {
		if (mcfg->entry[i].segment || mcfg->entry[i].bus_start)
			continue;
		*base = mcfg->entry[i].base;
		*last_bus = mcfg->entry[i].bus_end;
		return true;
	}
	return false;
}

/*
 * What the kernel maps it never unmaps. BARs do not move, and who has one asks for its traps, of a
 * few pages: what there is to be remembered is the machine's own. It is found again in whichever VM
 * the function is next.
 */
static struct known {
	struct known *next;
	unsigned count;
	struct {
		u64 pa;
		u64 size;
		void *va;
	} of[(PAGE_SIZE - 16) / 24];
} *known; /* the latest first */
static_assert(sizeof(struct known) <= PAGE_SIZE, "a page each");
/* guards known, and mmio_map(), which only boot calls otherwise */
static struct spinlock known_lock;

static void *find_known(u64 pa, u64 size)
{
	for (const struct known *k = known; k; k = k->next)
		for (unsigned i = 0; i < k->count; i++)
			if (k->of[i].pa == pa && k->of[i].size == size)
				return k->of[i].va;
	return NULL;
}

static void *map_new(u64 pa, u64 size)
{
	void *va;

	if (!known || known->count == ARRAY_SIZE(known->of)) {
		struct known *more = pmem_pages_alloc(1, -1);

		if (!more)
			return NULL;
		more->next = known;
		known = more;
	}
	va = mmio_map(pa, size);
	if (va) {
		known->of[known->count].pa = pa;
		known->of[known->count].size = size;
		known->of[known->count++].va = va;
	}
	return va;
}

volatile void *host_mmio_map(hpa_t pa, u64 size)
{
	void *va;

	spin_lock(&known_lock);
	va = find_known(pa.v, size);
	if (!va)
		va = map_new(pa.v, size);
	spin_unlock(&known_lock);
	return va;
}
