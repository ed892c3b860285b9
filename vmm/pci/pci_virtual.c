/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_virtual.h. PCI Local Bus 3.0, 6.1, 6.2.5, 6.8.2. */
#include "vmm/pci/pci_virtual.h"

#include <margay/errno.h>
#include <margay/host.h>

#include "vmm/guest_platform.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm/intc.h"
#include "vmm/vm/startup.h"
#include "vmm/vm_parts.h"

#define VENDOR 0x1af4u /* virtio 1.2, 4.1.2 */
#define REVISION 1u
#define PENDING (PCI_VIRTUAL_MSIX + 0x800u)
#define REG(offset) ((offset) / 4)
#define MSIX PCI_HEADER_END /* the first capability */
#define BAR_LOW REG(PCI_REG_BAR)

static void lock_both(struct pci_virtual *f)
{
	spin_lock(&f->lock);
	spin_lock(&f->others_lock);
}

static void unlock_both(struct pci_virtual *f)
{
	spin_unlock(&f->others_lock);
	spin_unlock(&f->lock);
}

/* ---- messages -------------------------------------------------------------------- */

static u32 msix_control(const struct pci_virtual *f)
{
	return f->config[REG(MSIX)] >> 16;
}

static void send(struct pci_virtual *f, unsigned n)
{
	const u32 *entry = f->table[n];
	struct vm *vm = f->vm;

	if (entry[3] & PCI_MSIX_ENTRY_MASKED || msix_control(f) & PCI_MSIX_MASK_ALL) {
		f->pending |= (u32)BIT(n);
		return;
	}
	f->pending &= ~(u32)BIT(n);
	/*
	 * What is no interrupt to a vCPU, as a message of a real function's must be (pci_msi.c),
	 * goes nowhere.
	 */
	if (vm->intc->msi_vcpu(vm, entry[0] | (u64)entry[1] << 32, entry[2]))
		vm->intc->msi(vm, entry[0] | (u64)entry[1] << 32, entry[2]);
}

void pci_virtual_interrupt(struct pci_virtual *f, unsigned n)
{
	if (n < PCI_VIRTUAL_VECTORS && msix_control(f) & PCI_MSIX_ENABLE)
		send(f, n);
}

/* What has waited behind a mask that may be gone now. */
static void send_pending(struct pci_virtual *f)
{
	for (unsigned n = 0; n < PCI_VIRTUAL_VECTORS; n++)
		if (f->pending & BIT(n))
			pci_virtual_interrupt(f, n);
}

/* ---- the BAR ----------------------------------------------------------------------- */

static u32 bar_read(struct pci_virtual *f, u32 offset, unsigned size)
{
	u32 word = 0;

	if (offset < PCI_VIRTUAL_MSIX)
		return f->read(f, offset, size);
	if (offset >= PENDING)
		word = ALIGN_DOWN(offset, 4) == PENDING ? f->pending : 0;
	else if (offset - PCI_VIRTUAL_MSIX < sizeof(f->table))
		word = f->table[(offset - PCI_VIRTUAL_MSIX) / PCI_MSIX_ENTRY_SIZE][offset / 4 % 4];
	/* Less than 4 bytes is undefined, as in pci_msix_read(). */
	return word >> offset % 4 * 8 & (u32)(BIT(size * 8) - 1);
}

static void bar_write(struct pci_virtual *f, struct vcpu *vcpu, u32 offset, unsigned size,
		      u32 value)
{
	static const u32 kept[4] = { ~3u, ~0u, ~0u, PCI_MSIX_ENTRY_MASKED };

	if (offset < PCI_VIRTUAL_MSIX) {
		f->write(f, vcpu, offset, size, value);
		return;
	}
	offset -= PCI_VIRTUAL_MSIX;
	if (offset >= sizeof(f->table) || size != 4)
		return;
	spin_lock(&f->others_lock);
	f->table[offset / PCI_MSIX_ENTRY_SIZE][offset / 4 % 4] = value & kept[offset / 4 % 4];
	send_pending(f);
	spin_unlock(&f->others_lock);
}

static u64 mmio_read(void *dev, struct vcpu *, u64 offset, unsigned size)
{
	struct pci_virtual *f = dev;
	u64 value;

	lock_both(f);
	value = bar_read(f, (u32)offset, MIN(size, 4u));
	if (size == 8)
		value |= (u64)bar_read(f, (u32)offset + 4, 4) << 32;
	unlock_both(f);
	return value;
}

static void mmio_write(void *dev, struct vcpu *vcpu, u64 offset, unsigned size, u64 value)
{
	struct pci_virtual *f = dev;

	spin_lock(&f->lock);
	bar_write(f, vcpu, (u32)offset, MIN(size, 4u), (u32)value);
	if (size == 8)
		bar_write(f, vcpu, (u32)offset + 4, 4, (u32)(value >> 32));
	spin_unlock(&f->lock);
}

static const struct mmio_ops bar_ops = { .sizes = 1 | 2 | 4 | 8,
					 .read = mmio_read,
					 .write = mmio_write };

/* ---- configuration space --------------------------------------------------------------- */

static struct pci_virtual *find(const struct vm *vm, u32 bdf)
{
	struct pci_virtual *f = vm->virtual;

	if (!f || bdf >> 8 != vm->pci->virtual_bus || PCI_FUNCTION(bdf))
		return NULL;
	while (f && f->index != PCI_DEVICE((u8)bdf))
		f = f->next;
	return f;
}

/*
 * Does the access go through the window? *at: where in the BAR. The register's bytes are those of
 * an access of 1, 2 or 4 bytes.
 */
static bool through_window(const struct pci_virtual *f, u16 offset, unsigned size, u32 *at)
{
	u32 length = f->config[REG(f->window + 12u)];

	*at = f->config[REG(f->window + 8u)];
	return f->window && offset == f->window + 16u && length == size && IS_ALIGNED(*at, size);
}

bool pci_virtual_read(struct vm *vm, u32 bdf, u16 offset, unsigned size, u32 *value)
{
	struct pci_virtual *f = find(vm, bdf);
	u32 at;

	if (!f)
		return false;
	*value = ~0u;
	if (offset >= PCI_STANDARD_END)
		return true;
	lock_both(f);
	if (through_window(f, offset, size, &at))
		*value = bar_read(f, at, size);
	else
		*value = f->config[REG(offset)] >> (offset & 3) * 8;
	unlock_both(f);
	if (size < 4)
		*value &= (u32)(BIT(size * 8) - 1);
	return true;
}

static void decode(const struct pci_virtual *f)
{
	const u32 *c = f->config;
	u64 base = (c[BAR_LOW] & ~0xfu) | (u64)c[BAR_LOW + 1] << 32;

	vm_set_mmio(f->vm, f, base,
		    c[REG(PCI_REG_COMMAND)] & PCI_COMMAND_MEMORY ? PCI_VIRTUAL_BAR_SIZE : 0);
}

bool pci_virtual_write(struct vcpu *vcpu, u32 bdf, u16 offset, unsigned size, u32 value)
{
	struct pci_virtual *f = find(vcpu->vm, bdf);
	u32 at, lanes, n = REG(offset);

	if (!f || offset >= PCI_STANDARD_END)
		return f;
	lanes = f->writable[n] & (u32)(BIT(size * 8) - 1) << (offset & 3) * 8;
	spin_lock(&f->lock);
	if (through_window(f, offset, size, &at))
		bar_write(f, vcpu, at, size, value);
	spin_lock(&f->others_lock);
	f->config[n] = (f->config[n] & ~lanes) | (value << (offset & 3) * 8 & lanes);
	if (n == REG(PCI_REG_COMMAND) || n == BAR_LOW || n == BAR_LOW + 1)
		decode(f);
	if (n == REG(MSIX))
		send_pending(f);
	unlock_both(f);
	return true;
}

void pci_virtual_settle(struct vm *vm)
{
	for (struct pci_virtual *f = vm->virtual; f; f = f->next) {
		if (!f->others)
			continue;
		lock_both(f);
		unlock_both(f);
	}
}

bool pci_virtual_is_master(const struct pci_virtual *f)
{
	return f->config[REG(PCI_REG_COMMAND)] & PCI_COMMAND_MASTER;
}

/* ---- work that one exit does not finish -------------------------------------------------- */

void pci_virtual_again(struct pci_virtual *f, struct vcpu *vcpu)
{
	__atomic_or_fetch(&vcpu->unfinished, (u32)BIT(f->index), __ATOMIC_RELEASE);
	vcpu_kick(vcpu);
}

void pci_virtual_go_on(struct vcpu *vcpu)
{
	u32 todo = __atomic_exchange_n(&vcpu->unfinished, 0, __ATOMIC_ACQ_REL);

	for (struct pci_virtual *f = vcpu->vm->virtual; f; f = f->next) {
		if (!(todo & BIT(f->index)))
			continue;
		spin_lock(&f->lock);
		f->go_on(f, vcpu);
		spin_unlock(&f->lock);
	}
}

static bool virtual_look(struct vcpu *vcpu)
{
	if (!__atomic_load_n(&vcpu->unfinished, __ATOMIC_RELAXED) || !vcpu_has_started(vcpu))
		return false;
	pci_virtual_go_on(vcpu);
	host_interrupt_window();
	return true;
}

static const struct vcpu_look unfinished_look = { .at = LOOK_VIRTUAL, .look = virtual_look };
VCPU_LOOK(unfinished_look);

/* ---- making one, and its place ------------------------------------------------------------ */

/* Capabilities from `at` on, each pointing to the next. */
static void put_caps(struct pci_virtual *f, u32 at)
{
	u32 last = MSIX;

	for (const struct pci_virtual_cap *c = f->caps; c->id; c++, at += c[-1].dwords * 4u) {
		f->config[REG(last)] |= at << 8;
		for (unsigned i = 0; i < c->dwords; i++)
			f->config[REG(at) + i] = c->dword[i];
		f->config[REG(at)] |= c->id;
		if (c->window) {
			f->window = at;
			f->writable[REG(at) + 2] = f->writable[REG(at) + 3] = ~0u;
		}
		last = at;
	}
}

int pci_virtual_add(struct vm *vm, struct pci_virtual *f)
{
	u32 *c = f->config, *w = f->writable;

	f->vm = vm;
	f->next = vm->virtual;
	f->index = f->next ? f->next->index + 1 : 0;
	if (f->index == PCI_VIRTUAL_MAX) {
		vm_tell(vm, "more than %u virtual PCI functions", PCI_VIRTUAL_MAX);
		return -ENOSPC;
	}
	c[REG(PCI_REG_ID)] = VENDOR | f->device_id << 16;
	c[REG(PCI_REG_COMMAND)] = PCI_STATUS_CAPABILITIES << 16;
	w[REG(PCI_REG_COMMAND)] = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_NO_INTX;
	c[REG(PCI_REG_CLASS)] = REVISION | f->class_code << 8;
	c[REG(PCI_REG_SUBSYSTEM)] = VENDOR | f->device_id << 16;
	c[REG(PCI_REG_CAPABILITIES)] = MSIX;
	c[BAR_LOW] = PCI_BAR_64;
	w[BAR_LOW] = ~(PCI_VIRTUAL_BAR_SIZE - 1);
	w[BAR_LOW + 1] = ~0u;
	c[REG(MSIX)] = PCI_CAP_MSIX | (PCI_VIRTUAL_VECTORS - 1) << 16;
	w[REG(MSIX)] = (u32)(PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL) << 16;
	c[REG(MSIX + PCI_MSIX_TABLE)] = PCI_VIRTUAL_MSIX;
	c[REG(MSIX + PCI_MSIX_PENDING)] = PENDING;
	put_caps(f, MSIX + 12);
	for (unsigned n = 0; n < PCI_VIRTUAL_VECTORS; n++)
		f->table[n][3] = PCI_MSIX_ENTRY_MASKED;
	vm->virtual = f;
	return 0;
}

static bool meets(u64 base, u64 end, u64 other, u64 size)
{
	return base < other + size && other < end;
}

/*
 * Is it free of RAM and of the BARs of the VM's real functions, both of which may lie anywhere
 * (memory_map = identity)?
 */
static bool is_free(const struct vm *vm, u64 base, u64 size)
{
	const struct gpa_map *map = &vm_parts(vm)->map;
	const struct vm_pci *pci = vm->pci;

	for (unsigned i = 0; i < map->count; i++)
		if (meets(base, base + size, map->region[i].gpa, map->region[i].size))
			return false;
	if (pci->ecam &&
	    meets(base, base + size, pci->ecam_base, (pci->last_bus + 1) * PCI_ECAM_BUS_SIZE))
		return false;
	for (unsigned i = 0; i < pci->nr_functions; i++)
		for (unsigned k = 0; k < PCI_BARS; k++)
			if (pci_bar_is_memory(&pci->function[i].bar[k]) &&
			    meets(base, base + size, pci->function[i].bar[k].base,
				  pci->function[i].bar[k].size))
				return false;
	return true;
}

/*
 * The first bus behind 0 that none of the VM's functions has, nor virtual ones of these: each with
 * one is a root bus.
 */
static u8 free_bus(const struct vm_pci *pci)
{
	u8 bus = 1;

	for (unsigned i = 0; i < pci->nr_functions; i++) {
		u8 first = pci->function[i].address.bus;
		u8 last = vm_pci_last_bus(&pci->function[i]);

		if (first <= bus && bus <= last) {
			bus = last + 1;
			i = ~0u;
		}
	}
	return bus;
}

int pci_virtual_place(struct vm *vm)
{
	u64 window = GUEST_VIRTUAL_PCI_END;
	int err = 0;

	if (!vm->virtual)
		return 0;
	do
		window -= GUEST_VIRTUAL_PCI_SIZE;
	while (window >= GPA_HOLE_START && !is_free(vm, window, GUEST_VIRTUAL_PCI_SIZE));
	if (window < GPA_HOLE_START) {
		vm_tell(vm,
			"no %lu MiB below 4 GiB are free for virtual PCI functions: try another memory_map",
			GUEST_VIRTUAL_PCI_SIZE >> 20);
		return -ENOSPC;
	}
	vm->pci->virtual_bus = free_bus(vm->pci);
	if (!vm->pci->nr_functions)
		err = pci_root_ecam(vm, window, GUEST_VIRTUAL_PCI_BUSES - 1);
	window += GUEST_VIRTUAL_PCI_BUSES * PCI_ECAM_BUS_SIZE;
	for (struct pci_virtual *f = vm->virtual; !err && f; f = f->next) {
		f->bar = window + f->index * PCI_VIRTUAL_BAR_SIZE;
		f->config[BAR_LOW] |= (u32)f->bar;
		err = vm_register_mmio(vm, gpa(f->bar), PCI_VIRTUAL_BAR_SIZE, &bar_ops, f);
		vm_set_mmio(vm, f, f->bar, 0);
	}
	return err;
}

static const struct vm_stage virtual_stage = { .at = STAGE_VIRTUAL, .create = pci_virtual_place };
VM_STAGE(virtual_stage);
VM_ON_PAUSE(pci_virtual_settle);
