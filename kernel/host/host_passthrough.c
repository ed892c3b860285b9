/* SPDX-License-Identifier: GPL-2.0-only */
/* What vmm/host.h says of functions that a VM has, over the kernel: as kernel/host/host.c. */
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/safe.h"
#include "kernel/acpi/acpi.h"
#include "kernel/pci/intx.h"
#include "kernel/pci/msi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"
#include "vmm/host.h"

#define MAPPINGS 128

#define SAME_FIELD(a, b, field) static_assert(offsetof(struct a, field) == offsetof(struct b, field), #a " is " #b)

static_assert(sizeof(struct host_msi) == sizeof(struct msi_vectors), "host_msi is msi_vectors");
SAME_FIELD(host_msi, msi_vectors, cpu);
SAME_FIELD(host_msi, msi_vectors, first);
SAME_FIELD(host_msi, msi_vectors, count);
SAME_FIELD(host_msi, msi_vectors, address);
SAME_FIELD(host_msi, msi_vectors, data);

u32 host_pci_read(unsigned index, u16 offset, unsigned size)
{
	return pci_read(pci_get(index)->address, offset, size);
}

void host_pci_write(unsigned index, u16 offset, unsigned size, u32 value)
{
	pci_write(pci_get(index)->address, offset, size, value);
}

unsigned host_pci_caps(unsigned index, struct pci_cap *cap, unsigned max)
{
	return pci_capabilities(pci_get(index), cap, max, NULL);
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
