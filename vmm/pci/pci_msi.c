/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MSI and MSI-X of an assigned function (PCI Local Bus 3.0, 6.8). The guest's
 * message stays here; the device is given the host's own, for a vector on the
 * CPU of the vCPU that the guest's names. That vector's handler delivers the
 * guest's message as it stands then, so an interrupt is right wherever it
 * arrives. A message that no vCPU can take is never armed: the device's vector
 * stays off or masked.
 */
#include <margay/errno.h>

#include "vmm/pci/pci_device.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/intc.h"

#define MESSAGE_ADDRESS 0xfee00000u
#define XAPIC_BROADCAST 255 /* no message reaches this and higher IDs without interrupt remapping */
#define MSIX_ENABLES (u32)(PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL)

static u32 config_read(const struct pci_device *d, u32 offset, unsigned size)
{
	return host_pci_read(d->host->index, (u16)offset, size);
}

static void config_write(const struct pci_device *d, u32 offset, unsigned size, u32 value)
{
	host_pci_write(d->host->index, (u16)offset, size, value);
}

/* In the interrupt window of a CPU of the VM. */
static void deliver(void *arg, unsigned n)
{
	const struct pci_vector *v = arg;
	struct vm *vm = v->dev->vm;
	u64 message = __atomic_load_n(&v->message, __ATOMIC_RELAXED);

	/* The messages of MSI differ in the low bits of their data. */
	vm->intc->msi(vm, (u32)message, (u32)(message >> 32) | n);
}

/* Gives back what entries hold that interrupt no more: they are masked, or have been moved. */
static void reclaim(struct pci_device *d)
{
	host_msi_free(&d->msi.old);
	for (unsigned i = 0; i < d->nr_msix; i++) {
		host_msi_free(&d->msix[i].old);
		if (d->msix[i].control & PCI_MSIX_ENTRY_MASKED)
			host_msi_free(&d->msix[i].msi);
	}
}

/* Where interrupts are remapped the message names entries of the function's IOMMU. */
static int remap(const struct pci_vector *v, unsigned count, struct host_msi *msi)
{
	return host_iommu_message(v->dev->host->index, &v->dev->kept, count, msi);
}

static int alloc_on(unsigned cpu, unsigned count, struct pci_vector *v, struct host_msi *out)
{
	int err = host_msi_alloc(cpu, count, deliver, v, out);

	if (!err)
		err = remap(v, count, out);
	if (err)
		host_msi_free(out);
	return err;
}

static int alloc_anywhere(struct vm *vm, unsigned cpu, unsigned count, struct pci_vector *v,
			  struct host_msi *out)
{
	int err = alloc_on(cpu, count, v, out);

	/*
	 * A CPU that no device reaches, or that has no vectors left: another of the VM's takes it.
	 */
	for (unsigned i = 0; err && i < vm->nr_vcpus; i++)
		err = alloc_on(vm->vcpus[i]->cpu, count, v, out);
	return err;
}

static int alloc(struct vm *vm, unsigned cpu, unsigned count, struct pci_vector *v,
		 struct host_msi *out)
{
	int err = alloc_anywhere(vm, cpu, count, v, out);

	if (!err)
		return 0;
	reclaim(v->dev);
	return alloc_anywhere(vm, cpu, count, v, out);
}

static bool none_left(struct pci_device *d)
{
	vm_log(d->vm, "pci: no interrupt vectors left on the VM's CPUs");
	return false;
}

/* Of its last message, which may be under way still, the vectors and entries stay. */
static void replace(struct pci_vector *v, const struct host_msi *new)
{
	host_msi_free(&v->old);
	v->old = v->msi;
	v->msi = *new;
}

/* The CPU's local APIC is the guest's: its own vector, and nothing of the host's. */
static bool arm_direct(struct pci_vector *v, unsigned count, const struct vcpu *to)
{
	struct host_msi new = {
		.cpu = (u16)to->cpu,
		.first = (u8)v->data,
		.address = MESSAGE_ADDRESS | to->apic_id << 12,
		.data = (u8)v->data,
	};

	if (to->apic_id >= XAPIC_BROADCAST && !host_iommu_wide())
		return false;
	if (v->msi.entries == count && v->msi.cpu == new.cpu && v->msi.first == new.first)
		return true;
	if (remap(v, count, &new)) {
		reclaim(v->dev);
		if (remap(v, count, &new))
			return none_left(v->dev);
	}
	replace(v, &new);
	return true;
}

/*
 * Gives the vector(s) a place where the guest wants them. False: it asks for nothing that can be
 * had.
 */
static bool arm(struct pci_vector *v, unsigned count)
{
	struct vm *vm = v->dev->vm;
	const struct vcpu *to = vm->intc->msi_vcpu(vm, v->address, v->data);
	struct host_msi new = { 0 };

	if (!to)
		return false;
	if (vm_direct(vm))
		return arm_direct(v, count, to);
	if (v->msi.count != count || v->msi.cpu != to->cpu) {
		if (alloc(vm, to->cpu, count, v, &new))
			return none_left(v->dev);
		replace(v, &new);
	}
	__atomic_store_n(&v->message, (u32)v->address | (u64)v->data << 32, __ATOMIC_RELAXED);
	return true;
}

void pci_msi_update(struct pci_device *d)
{
	u32 at = d->config.msi, control = config_read(d, at + PCI_MSI_CONTROL, 2);
	u32 wanted = control & ~(u32)(PCI_MSI_ENABLE | PCI_MSI_COUNT),
	    data_at = at + PCI_MSI_DATA(control), data = 0;
	unsigned count = 1;
	u64 address = 0;
	bool on = pci_config_msi(&d->config, &address, &data, &count);

	d->msi.address = address;
	d->msi.data = data & ~(count - 1);
	on = on && arm(&d->msi, count);
	if (on)
		wanted |= PCI_MSI_ENABLE | (u32)__builtin_ctz(count) << 4;
	if (wanted == control &&
	    (!on || (config_read(d, at + PCI_MSI_ADDRESS, 4) == d->msi.msi.address &&
		     config_read(d, data_at, 2) == d->msi.msi.data)))
		return;
	/* Never a message that is half the old one. */
	config_write(d, at + PCI_MSI_CONTROL, 2, control & ~(u32)PCI_MSI_ENABLE);
	if (!on)
		return;
	config_write(d, at + PCI_MSI_ADDRESS, 4, d->msi.msi.address);
	if (control & PCI_MSI_64)
		config_write(d, at + PCI_MSI_ADDRESS + 4, 4, 0);
	config_write(d, data_at, 2, d->msi.msi.data);
	config_write(d, at + PCI_MSI_CONTROL, 2, wanted);
}

/* The n-th double word of the i-th entry in the device. */
static volatile u8 *entry(const struct pci_device *d, unsigned i, unsigned n)
{
	return pci_window_reg(&d->bar[d->table_bar], d->table + i * PCI_MSIX_ENTRY_SIZE + n * 4, 4);
}

static void write_entry(const struct pci_device *d, unsigned i, unsigned n, u32 value)
{
	host_mmio_write(entry(d, i, n), 4, value);
}

static void program(struct pci_device *d, unsigned i)
{
	struct pci_vector *v = &d->msix[i];

	if (v->control & PCI_MSIX_ENTRY_MASKED || !arm(v, 1)) {
		write_entry(d, i, 3, PCI_MSIX_ENTRY_MASKED);
		return;
	}
	if (host_mmio_read(entry(d, i, 0), 4) != v->msi.address ||
	    host_mmio_read(entry(d, i, 2), 4) != v->msi.data) {
		write_entry(d, i, 3, PCI_MSIX_ENTRY_MASKED);
		write_entry(d, i, 0, v->msi.address);
		write_entry(d, i, 1, 0);
		write_entry(d, i, 2, v->msi.data);
	}
	write_entry(d, i, 3, 0);
}

void pci_msix_update(struct pci_device *d)
{
	u32 at = d->config.msix, old = config_read(d, at + PCI_MSIX_CONTROL, 2);
	u32 new = (old & ~MSIX_ENABLES) |
		  (pci_config_read(&d->config, (u16)(at + PCI_MSIX_CONTROL), 2) & MSIX_ENABLES);

	if (d->nr_msix && old != new)
		config_write(d, at + PCI_MSIX_CONTROL, 2, new);
}

bool pci_msix_owns(const struct pci_device *d, unsigned bar, u64 offset)
{
	return d->nr_msix && bar == d->table_bar &&
	       offset - d->table < d->nr_msix * PCI_MSIX_ENTRY_SIZE;
}

static u32 read_dword(const struct pci_vector *v, unsigned n)
{
	switch (n) {
	case 0: return (u32)v->address;
	case 1: return (u32)(v->address >> 32);
	case 2: return v->data;
	default: return v->control;
	}
}

static void write_dword(struct pci_vector *v, unsigned n, u32 value)
{
	switch (n) {
	case 0: v->address = (v->address & ~0xffffffffull) | (value & ~3u); break;
	case 1: v->address = (u32)v->address | (u64)value << 32; break;
	case 2: v->data = value; break;
	default: v->control = value & PCI_MSIX_ENTRY_MASKED;
	}
}

u64 pci_msix_read(struct pci_device *d, u64 offset, unsigned size)
{
	const struct pci_vector *v = &d->msix[(offset - d->table) / PCI_MSIX_ENTRY_SIZE];
	unsigned n = (unsigned)(offset - d->table) % PCI_MSIX_ENTRY_SIZE / 4;

	/*
	 * Less than 4 bytes is undefined (6.8.2): who copies the table byte by byte finds what is
	 * there.
	 */
	if (size < 8)
		return read_dword(v, n) >> offset % 4 * 8 & (BIT(size * 8) - 1);
	return read_dword(v, n) | (u64)read_dword(v, n + 1) << 32;
}

void pci_msix_write(struct pci_device *d, u64 offset, unsigned size, u64 value)
{
	unsigned i = (unsigned)((offset - d->table) / PCI_MSIX_ENTRY_SIZE);
	unsigned n = (unsigned)(offset - d->table) % PCI_MSIX_ENTRY_SIZE / 4;

	/*
	 * Undefined as well: it changes nothing, for no message shall go out that is half of the
	 * old one.
	 */
	if (size < 4 || i >= d->served_msix)
		return;
	write_dword(&d->msix[i], n, (u32)value);
	if (size == 8)
		write_dword(&d->msix[i], n + 1, (u32)(value >> 32));
	program(d, i);
}

static void forget(struct pci_vector *v)
{
	v->address = 0;
	v->data = 0;
	v->control = PCI_MSIX_ENTRY_MASKED;
}

void pci_msi_reset(struct pci_device *d)
{
	forget(&d->msi);
	for (unsigned i = 0; i < d->nr_msix; i++)
		forget(&d->msix[i]);
	if (d->nr_msix)
		pci_config_msix_size(&d->config, d->served_msix);
}

/*
 * Entries name the CPUs and vectors of whoever wrote them, and only some resets mask them (PCI
 * Local Bus 3.0, 6.8.2.9): the guest that switches MSI-X on has written few. A mask bit of MSI that
 * is left on would keep a message from it (6.8.1.7).
 */
void pci_msi_clean(const struct pci_device *d)
{
	u32 command = config_read(d, PCI_REG_COMMAND, 2), msi = d->config.msi;
	u32 control = msi ? config_read(d, msi + PCI_MSI_CONTROL, 2) : 0;

	if (control & PCI_MSI_MASKS)
		config_write(d, msi + PCI_MSI_DATA(control) + 4, 4, 0);
	if (!d->nr_msix)
		return;
	/* No guest has it mapped: it answers to nobody else. */
	config_write(d, PCI_REG_COMMAND, 2, command | PCI_COMMAND_MEMORY);
	for (unsigned i = 0; i < d->nr_msix; i++) {
		write_entry(d, i, 3, PCI_MSIX_ENTRY_MASKED);
		for (unsigned n = 0; n < 3; n++)
			write_entry(d, i, n, 0);
	}
	config_write(d, PCI_REG_COMMAND, 2, command);
}

static unsigned msix_pages(const struct pci_device *d)
{
	return (unsigned)(ALIGN_UP(d->nr_msix * sizeof(struct pci_vector), PAGE_SIZE) / PAGE_SIZE);
}

/* Do the table and the pending bits lie in memory BARs? */
static bool placed(const struct pci_device *d, unsigned bar, u64 offset, u64 size)
{
	return bar < PCI_ROM_BAR && pci_bar_is_memory(&d->host->bar[bar]) &&
	       offset + size <= d->host->bar[bar].size;
}

/*
 * Has its IOMMU keep entries for its messages: each with the one before, which may be under way
 * when it moves.
 */
static int reserve(struct pci_device *d)
{
	u32 at = d->config.msi;
	unsigned several = at ? 1u << PCI_MSI_CAPABLE(config_read(d, at + PCI_MSI_CONTROL, 2)) : 0;
	unsigned count = MAX(d->nr_msix, MIN(several, PCI_MSI_MAX));
	int err = count ? host_iommu_reserve(d->host->index, 2 * count, &d->kept) : 0;

	d->served_msix = d->nr_msix;
	if (err == -ENOMEM)
		return host_no_memory(d->vm->name);
	if (err) {
		vm_tell(d->vm,
			"pci: " PCI_FORMAT
			": its IOMMU has no entries left for its interrupts: end a VM that has such",
			PCI_FORMAT_ARGS(d->host->address));
		return err;
	}
	/* One is for the next to move: the old ones are given back when no other is left. */
	if (d->kept.count && d->kept.count <= d->nr_msix) {
		d->served_msix = d->kept.count - 1u;
		vm_tell(d->vm,
			"pci: " PCI_FORMAT ": MSI-X %u of %u: its IOMMU has no more entries for it",
			PCI_FORMAT_ARGS(d->host->address), d->served_msix, d->nr_msix);
	}
	return 0;
}

static int find_table(struct pci_device *d)
{
	u32 at = d->config.msix, table, pending;

	if (!at)
		return 0;
	d->nr_msix = (config_read(d, at + PCI_MSIX_CONTROL, 2) & PCI_MSIX_SIZE) + 1;
	table = config_read(d, at + PCI_MSIX_TABLE, 4);
	pending = config_read(d, at + PCI_MSIX_PENDING, 4);
	d->table_bar = table & PCI_MSIX_BAR;
	d->pending_bar = pending & PCI_MSIX_BAR;
	d->table = table & ~(u32)PCI_MSIX_BAR;
	d->pending = pending & ~(u32)PCI_MSIX_BAR;
	if (!placed(d, d->table_bar, d->table, d->nr_msix * PCI_MSIX_ENTRY_SIZE) ||
	    !placed(d, d->pending_bar, d->pending, ALIGN_UP(d->nr_msix, 64) / 8)) {
		vm_tell(d->vm, "pci: " PCI_FORMAT ": its MSI-X table is not within its BARs",
			PCI_FORMAT_ARGS(d->host->address));
		return -EINVAL;
	}
	return 0;
}

int pci_msi_create(struct pci_device *d)
{
	int err = find_table(d);

	d->msi.dev = d;
	if (!err)
		err = reserve(d);
	if (err || !d->nr_msix)
		return err;
	d->msix = host_pages_alloc(msix_pages(d), -1);
	if (!d->msix)
		return host_no_memory(d->vm->name);
	for (unsigned i = 0; i < d->nr_msix; i++)
		d->msix[i].dev = d;
	pci_msi_reset(d);
	return 0;
}

void pci_msi_destroy(struct pci_device *d)
{
	host_msi_free(&d->msi.msi);
	host_msi_free(&d->msi.old);
	for (unsigned i = 0; d->msix && i < d->nr_msix; i++) {
		host_msi_free(&d->msix[i].msi);
		host_msi_free(&d->msix[i].old);
	}
	host_iommu_release(&d->kept);
	if (d->msix)
		host_pages_free(d->msix, msix_pages(d));
}
