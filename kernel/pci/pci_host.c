/* SPDX-License-Identifier: GPL-2.0-only */
/* What <margay/host_pci.h> says of functions that a VM has, by their index, over the kernel: as kernel/host.c. */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/safe.h"
#include "kernel/acpi/acpi.h"
#include "kernel/pci/intx.h"
#include "kernel/pci/msi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"

#define MAPPINGS 128

#define SAME_FIELD(a, b, field) static_assert(offsetof(struct a, field) == offsetof(struct b, field), #a " is " #b)

static_assert(HOST_PCI_FUNCTIONS == PCI_MAX_FUNCTIONS, "one limit");
static_assert(sizeof(struct host_pci_cap) == sizeof(struct pcicap), "host_pci_cap is pcicap");
SAME_FIELD(host_pci_cap, pcicap, id);
SAME_FIELD(host_pci_cap, pcicap, version);
SAME_FIELD(host_pci_cap, pcicap, extended);
SAME_FIELD(host_pci_cap, pcicap, offset);
static_assert(sizeof(struct host_msi) == sizeof(struct msi_vectors), "host_msi is msi_vectors");
SAME_FIELD(host_msi, msi_vectors, cpu);
SAME_FIELD(host_msi, msi_vectors, first);
SAME_FIELD(host_msi, msi_vectors, count);
SAME_FIELD(host_msi, msi_vectors, address);
SAME_FIELD(host_msi, msi_vectors, data);

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	const struct pci_function *f = pci_get(i);

	if (!f)
		return false;
	*out = (struct host_pci_function){
		.index = i, .segment = f->address.segment, .bus = f->address.bus, .devfn = f->address.devfn,
		.vendor = f->vendor, .device = f->device, .class_code = f->class_code, .extended = f->extended,
		.node = pci_node(f),
	};
	static_assert(HOST_PCI_BARS == PCI_INFO_BARS, "the same");
	for (unsigned k = 0; k < HOST_PCI_BARS; k++) {
		out->bar[k].base = f->bar[k].base;
		out->bar[k].size = f->bar[k].size;
		out->bar[k].flags = f->bar[k].flags;
	}
	return true;
}

u32 host_pci_read(unsigned index, u16 offset, unsigned size)
{
	return pci_read(pci_get(index)->address, offset, size);
}

void host_pci_write(unsigned index, u16 offset, unsigned size, u32 value)
{
	pci_write(pci_get(index)->address, offset, size, value);
}

unsigned host_pci_caps(unsigned index, struct host_pci_cap *cap, unsigned max)
{
	return pci_capabilities(pci_get(index), (struct pcicap *)cap, max, NULL);
}

int host_pci_take_back(unsigned index)
{
	return pci_take_back(pci_get(index));
}

int host_pci_reset(unsigned index)
{
	return pci_reset(pci_get(index));
}

bool host_pci_ecam(u64 *base, u8 *last_bus)
{
	const struct mcfg_info *mcfg = acpi_mcfg();

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

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	return mmio_read_safe(reg, size);
}

void host_mmio_write(volatile void *reg, unsigned size, u64 value)
{
	mmio_write_safe(reg, size, value);
}

int host_msi_alloc(unsigned cpu, unsigned count, void (*fn)(void *arg, unsigned n), void *arg, struct host_msi *out)
{
	return msi_alloc(cpu, count, fn, arg, (struct msi_vectors *)out);
}

void host_msi_free(struct host_msi *msi)
{
	msi_free((struct msi_vectors *)msi);
}

int host_intx_route(unsigned index, struct host_intx *out)
{
	struct aml_pci_route route;
	int err = pci_route(index, &route);

	if (!err)
		*out = (struct host_intx){ route.gsi, route.active_low };
	return err;
}

int host_intx_take(const struct host_intx *line, unsigned cpu, void (*fn)(void *arg, unsigned n), void *arg)
{
	return intx_take(line->gsi, line->active_low, cpu, fn, arg);
}

void host_intx_open(u32 gsi)
{
	intx_open(gsi);
}

void host_intx_release(u32 gsi)
{
	intx_release(gsi);
}
