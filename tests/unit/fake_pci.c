/* SPDX-License-Identifier: GPL-2.0-only */
/* The PCI functions, messages and lines of <margay/host.h> on the build host; see fake_host.h. */
#include "tests/unit/fake_host.h"

#include <margay/errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/pci/pci_config.h"

/* ---- functions ---- */

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	if (i >= fake_host.nr_pci)
		return false;
	*out = fake_host.pci[i];
	out->index = i;
	return true;
}

bool host_pci_info(unsigned i, struct pci_info *out)
{
	const struct host_pci_function *f = &fake_host.pci[i];

	if (i >= fake_host.nr_pci)
		return false;
	*out = (struct pci_info){
		.address = f->address,
		.id = f->id,
		.pin = fake_host.pci_pin[i],
		.msi = fake_host.pci_msi[i],
		.msix = !fake_host.pci_no_msix[i],
		.problem = fake_host.pci_problem[i],
		.group = fake_host.pci_group[i],
	};
	if (!out->group.devfn)
		out->group = f->address;
	return true;
}

u32 host_pci_read(unsigned i, u16 offset, unsigned size)
{
	u32 value = 0;

	fake_host.pci_posted[i] = false;
	memcpy(&value, &fake_host.pci_config[i][offset], size);
	return value;
}

void host_pci_write(unsigned i, u16 offset, unsigned size, u32 value)
{
	fake_host.pci_posted[i] = true;
	memcpy(&fake_host.pci_config[i][offset], &value, size);
}

static u32 io_read(void *, u16 offset, unsigned size)
{
	return host_pci_read(0, offset, size);
}

static void io_write(void *, u16 offset, unsigned size, u32 value)
{
	host_pci_write(0, offset, size, value);
}

const struct pci_config_io fake_pci_io = { io_read, io_write, NULL };

unsigned host_pci_caps(unsigned i, struct pci_cap *cap, unsigned max)
{
	memcpy(cap, fake_host.pci_cap[i], MIN(max, fake_host.nr_pci_caps[i]) * sizeof(*cap));
	return fake_host.nr_pci_caps[i];
}

unsigned host_pci_path(unsigned)
{
	return fake_host.pci_path_less ? 0 : HOST_PCI_ATOMICS | HOST_PCI_RELAXED;
}

void host_pci_open_way(unsigned i)
{
	fake_host.pci_open[i]++;
}

/*
 * By its guest's word, or when its VM has ended: then it decodes again. Over at once, but where the
 * test says so.
 */
void host_pci_reset_begin(struct host_pci_reset *r, unsigned i)
{
	*r = (struct host_pci_reset){ .index = i };
	fake_host.pci_reset_begun[i]++;
}

int host_pci_reset_step(struct host_pci_reset *r)
{
	if (fake_host.reset_waits || fake_host.pci_reset_says[r->index] == -EBUSY)
		return -EBUSY;
	*(r->decodes ? &fake_host.pci_taken_back[r->index] : &fake_host.pci_reset[r->index]) += 1;
	if (fake_host.pci_reset_says[r->index])
		return fake_host.pci_reset_says[r->index];
	return r->decodes ? fake_host.take_back_says : fake_host.reset_says;
}

bool host_pci_ecam(u64 *base, u8 *last_bus)
{
	*base = 0xb0000000;
	*last_bus = 0xff;
	return true;
}

bool host_may_map(hpa_t pa, u64 size, bool ram)
{
	return ram || pa.v + size <= fake_host.platform ||
	       pa.v >= fake_host.platform + fake_host.platform_size;
}

bool host_may_open(u64 port, u64 ports)
{
	return host_may_map(hpa(port), ports, false);
}

volatile void *host_mmio_map(hpa_t, u64 size)
{
	return size <= FAKE_REGISTERS ? fake_host.registers : NULL;
}

/*
 * What the hypervisor must not do itself fails here: another size, an unaligned one, or one that
 * leaves the registers.
 */
static void check_access(const volatile void *reg, unsigned size)
{
	u64 at = (u64)((const volatile u8 *)reg - fake_host.registers);

	if (fake_host.decodes && !(fake_host.pci_config[0][PCI_REG_COMMAND] & PCI_COMMAND_MEMORY))
		abort();
	if ((size != 1 && size != 2 && size != 4 && size != 8) || !IS_ALIGNED(at, size) ||
	    at + size > FAKE_REGISTERS)
		abort();
}

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	u64 value = 0;

	check_access(reg, size);
	memcpy(&value, (const void *)reg, size);
	return value;
}

void host_mmio_write(volatile void *reg, unsigned size, u64 value)
{
	check_access(reg, size);
	memcpy((void *)reg, &value, size);
}

/* ---- IOMMU ---- */

bool host_iommu_on(void)
{
	return fake_host.iommu;
}

const char *host_iommu_unfit(unsigned i)
{
	return fake_host.iommu_unfit[i];
}

static int iommu_asked(int fails, const char *fmt, ...)
{
	size_t used = strlen(fake_host.iommu_log);
	int err = fake_host.iommu_error == fails ? fails : 0;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake_host.iommu_log + used, sizeof(fake_host.iommu_log) - used, fmt, ap);
	va_end(ap);
	fake_host.iommu_error = err ? 0 : fake_host.iommu_error;
	return err;
}

/* Which error tells which call fails. */
int host_iommu_create(const struct host_iommu_user *user, struct host_iommu **out)
{
	int err = iommu_asked(-ENOSPC, "create %s;", user->name);

	fake_host.iommu_user = err ? NULL : user;

	*out = err ? NULL : (struct host_iommu *)&fake_host;
	return err;
}

int host_iommu_map(struct host_iommu *, u64 at, hpa_t pa, u64 size)
{
	return iommu_asked(-ERANGE, " %#llx is %#llx+%#llx;", (unsigned long long)at,
			   (unsigned long long)pa.v, (unsigned long long)size);
}

int host_iommu_unmap(struct host_iommu *, u64 at, u64 size)
{
	return iommu_asked(-ENXIO, " not %#llx+%#llx;", (unsigned long long)at,
			   (unsigned long long)size);
}

int host_iommu_attach(struct host_iommu *, unsigned i)
{
	return iommu_asked(-EIO, " attach %u;", i);
}

int host_iommu_detach(unsigned i)
{
	return iommu_asked(-ENXIO, " detach %u after %u;", i, fake_host.pci_taken_back[i]);
}

bool host_iommu_state(unsigned i, struct host_iommu_state *out)
{
	*out = fake_host.iommu_state;
	out->domain += out->domain ? i : 0;
	return fake_host.iommu;
}

void host_iommu_abandon(struct host_iommu *)
{
	iommu_asked(1, " abandon;");
}

void host_iommu_destroy(struct host_iommu *d)
{
	iommu_asked(1, d ? " destroy;" : "");
}

/* ---- interrupts ---- */

bool host_iommu_wide(void)
{
	return fake_host.wide;
}

int host_iommu_reserve(unsigned index, unsigned count, struct host_messages *out)
{
	*out = (struct host_messages){ 0 };
	if (!fake_host.remaps || fake_host.reserve)
		return fake_host.reserve;
	fake_host.reserved += count;
	out->unit = (u16)index;
	out->count =
		(u16)MIN(ALIGN_UP(count, 64), fake_host.entries ? fake_host.entries : FAKE_ENTRIES);
	return 0;
}

void host_iommu_release(struct host_messages *kept)
{
	fake_host.released += kept->count;
	kept->count = 0;
}

int host_iommu_message(unsigned index, const struct host_messages *kept, unsigned count,
		       struct host_msi *msi)
{
	if (!fake_host.remaps)
		return 0;
	for (unsigned e = kept->first; e + count <= kept->first + kept->count; e += count) {
		unsigned n = 0;

		while (n < count && !fake_host.entry[e + n].used)
			n++;
		if (n < count)
			continue;
		for (n = 0; n < count; n++) {
			fake_host.entry[e + n].used = true;
			fake_host.entry[e + n].index = index;
			fake_host.entry[e + n].cpu = msi->cpu;
			fake_host.entry[e + n].vector = msi->first + n;
		}
		msi->entry = (u16)e;
		msi->entries = (u8)count;
		msi->address = 0xfee00010 | e << 5 | (count > 1 ? 8 : 0);
		msi->data = 0;
		return 0;
	}
	return -ENOSPC;
}

static void forget(struct host_msi *msi)
{
	for (unsigned n = 0; n < msi->entries; n++)
		fake_host.entry[msi->entry + n].used = false;
	msi->entries = 0;
}

int host_msi_alloc(unsigned cpu, unsigned count, void (*fn)(void *arg, unsigned n), void *arg,
		   struct host_msi *out)
{
	for (unsigned v = 0; v + count <= FAKE_VECTORS; v += count) {
		unsigned n = 0;

		while (n < count && !fake_host.vector[v + n].fn)
			n++;
		if (n < count)
			continue;
		for (n = 0; n < count; n++) {
			fake_host.vector[v + n].fn = fn;
			fake_host.vector[v + n].arg = arg;
			fake_host.vector[v + n].cpu = cpu;
			fake_host.vector[v + n].n = n;
		}
		*out = (struct host_msi){
			.cpu = (u16)cpu,
			.first = (u8)v,
			.count = (u8)count,
			.address = 0xfee00000 | cpu << 12,
			.data = v,
		};
		return 0;
	}
	return -ENOSPC;
}

void host_msi_free(struct host_msi *msi)
{
	forget(msi);
	for (unsigned n = 0; n < msi->count; n++)
		fake_host.vector[msi->first + n].fn = NULL;
	msi->count = 0;
}

int host_intx_route(unsigned i, struct host_intx *out)
{
	*out = fake_host.pci_route[i].at;
	return fake_host.pci_route[i].err;
}

int host_intx_take(const struct host_intx *line, unsigned, void (*fn)(void *arg, unsigned n),
		   void *arg)
{
	if (line->gsi >= FAKE_LINES)
		return -ENODEV;
	if (fake_host.intx[line->gsi].taken || fake_host.intx[line->gsi].others)
		return -EBUSY;
	fake_host.intx[line->gsi].taken = true;
	fake_host.intx[line->gsi].fn = fn;
	fake_host.intx[line->gsi].arg = arg;
	return 0;
}

void host_intx_open(u32 gsi)
{
	if (!fake_host.intx[gsi].fn)
		abort();
	fake_host.intx[gsi].open = true;
}

void host_intx_release(u32 gsi)
{
	fake_host.intx[gsi].fn = NULL;
	fake_host.intx[gsi].taken = fake_host.intx[gsi].open = false;
}

void host_intx_lead(const struct host_intx *line, u32 apic, u8 vector)
{
	if (!fake_host.intx[line->gsi].taken || fake_host.intx[line->gsi].fn)
		abort();
	fake_host.intx[line->gsi].apic = apic;
	fake_host.intx[line->gsi].vector = vector;
	fake_host.intx[line->gsi].led++;
}

bool host_intx_in_service(u32 gsi, bool end)
{
	fake_host.intx[gsi].ended += end;
	return fake_host.intx[gsi].in_service &= !end;
}
