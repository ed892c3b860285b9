/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BARs of an assigned function in its guest: memory by second-level
 * mappings, but for the pages of the MSI-X table and pending bits, and BARs
 * that share their page with others, which are trapped and forwarded; ports by
 * the permission maps. The host's BARs never move: where the guest moves one
 * it moves the mapping.
 */
#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/vm_parts.h"

#define DEVICE_PROT (STAGE2_R | STAGE2_W)

static u64 size_of(const struct pci_window *b)
{
	return b->dev->host->bar[b->index].size;
}

static hpa_t host_base(const struct pci_window *b)
{
	return hpa(b->dev->host->bar[b->index].base);
}

static bool is_memory(const struct pci_window *b)
{
	return pci_bar_is_memory(&b->dev->host->bar[b->index]);
}

/* ---- trapped registers ---------------------------------------------------------- */

/*
 * Under the lock, and only while it is mapped: another vCPU may be resetting the device, which does
 * not answer then.
 */
static u64 trap_read(void *dev, struct vcpu *vcpu, u64 offset, unsigned size)
{
	struct pci_window *b = dev;
	volatile u8 *r = pci_window_reg(b, offset, size);
	u64 value = ~0ull;

	vm_stage2_lock(vcpu);
	if (b->mapped && pci_msix_owns(b->dev, b->index, offset))
		value = pci_msix_read(b->dev, offset, size);
	else if (b->mapped && r)
		value = host_mmio_read(r, size);
	vm_stage2_unlock(vcpu->vm);
	return value;
}

static void trap_write(void *dev, struct vcpu *vcpu, u64 offset, unsigned size, u64 value)
{
	struct pci_window *b = dev;
	volatile u8 *r = pci_window_reg(b, offset, size);

	vm_stage2_lock(vcpu);
	if (b->mapped && pci_msix_owns(b->dev, b->index, offset))
		pci_msix_write(b->dev, offset, size, value);
	else if (b->mapped && r)
		host_mmio_write(r, size, value);
	vm_stage2_unlock(vcpu->vm);
}

static const struct mmio_ops trap_ops = { .sizes = 1 | 2 | 4 | 8,
					  .read = trap_read,
					  .write = trap_write };

/* Keeps them sorted and apart. */
static void add_trap(struct pci_window *b, u64 start, u64 end)
{
	struct pci_trap *t = b->trap;

	if (!b->nr_traps) {
		t[b->nr_traps++] = (struct pci_trap){ .start = start, .end = end };
	} else if (start <= t[0].end && end >= t[0].start) {
		t[0] = (struct pci_trap){ .start = MIN(start, t[0].start),
					  .end = MAX(end, t[0].end) };
	} else if (end < t[0].start) {
		t[1] = t[0];
		t[0] = (struct pci_trap){ .start = start, .end = end };
		b->nr_traps = 2;
	} else {
		t[1] = (struct pci_trap){ .start = start, .end = end };
		b->nr_traps = 2;
	}
}

static void find_traps(struct pci_window *b)
{
	const struct pci_device *d = b->dev;

	if (!IS_ALIGNED(size_of(b) | host_base(b).v, PAGE_SIZE)) {
		add_trap(b, 0, size_of(b));
		return;
	}
	if (d->nr_msix && d->table_bar == b->index)
		add_trap(b, ALIGN_DOWN(d->table, PAGE_SIZE),
			 ALIGN_UP(d->table + d->nr_msix * PCI_MSIX_ENTRY_SIZE, PAGE_SIZE));
	if (d->nr_msix && d->pending_bar == b->index)
		add_trap(b, ALIGN_DOWN(d->pending, PAGE_SIZE),
			 ALIGN_UP(d->pending + ALIGN_UP(d->nr_msix, 64) / 8, PAGE_SIZE));
}

/* ---- mappings ------------------------------------------------------------------- */

/* The n-th piece of a BAR between its traps; false past the last. Empty ones have size 0. */
static bool piece(const struct pci_window *b, unsigned n, u64 *start, u64 *size)
{
	if (n > b->nr_traps)
		return false;
	*start = n ? b->trap[n - 1].end : 0;
	*size = (n < b->nr_traps ? b->trap[n].start : size_of(b)) - *start;
	return true;
}

static bool is_trapped(const struct pci_window *b)
{
	return b->nr_traps && b->trap[0].start == 0 && b->trap[0].end == size_of(b);
}

/* No RAM, nothing of the guest's platform and no other BAR may be hidden under it. */
static bool is_free(const struct vm *vm, const struct pci_window *b, u64 at)
{
	const struct vm_parts *parts = vm_parts(vm);
	u64 size = size_of(b);

	if (!at || at + size < at || (at + size - 1) >> hvm_caps.phys_bits)
		return false;
	for (unsigned i = 0; i < parts->map.count; i++)
		if (ranges_meet(at, size, parts->map.region[i].gpa, parts->map.region[i].size))
			return false;
	for (unsigned i = 0; i < parts->ranges.nr_mmio; i++) {
		u64 start = parts->ranges.mmio[i].base, end = start + parts->ranges.mmio[i].size;

		if (!is_trapped(b)) {
			start = ALIGN_DOWN(start, PAGE_SIZE);
			end = ALIGN_UP(end, PAGE_SIZE);
		}
		if (parts->ranges.mmio[i].dev != b && ranges_meet(at, size, start, end - start))
			return false;
	}
	for (unsigned i = 0; i < vm->pci->nr_functions; i++) {
		const struct pci_device *d = vm->pci->device[i];

		for (unsigned k = 0; d && k < PCI_BARS; k++)
			if (d->bar[k].mapped && &d->bar[k] != b &&
			    ranges_meet(at, size, d->bar[k].at, size_of(&d->bar[k])))
				return false;
	}
	return true;
}

static int map(struct vm *vm, struct pci_window *b, u64 at)
{
	u64 start, size;

	for (unsigned n = 0; piece(b, n, &start, &size); n++) {
		int err = size ? vm_map(vm, gpa(at + start), hpa(host_base(b).v + start), size,
					DEVICE_PROT, MEMTYPE_UC_MINUS)
			       : 0;

		if (err)
			return err;
	}
	b->mapped = true;
	b->at = at;
	return 0;
}

static void unmap(struct vcpu *vcpu, struct pci_window *b, u64 at)
{
	u64 start, size;

	for (unsigned n = 0; piece(b, n, &start, &size); n++)
		if (size && vm_unmap(vcpu, gpa(at + start), size))
			vm_log(vcpu->vm, "vcpu%u: no memory to unmap a BAR", vcpu->id);
	b->mapped = false;
}

void pci_bars_update(struct vcpu *vcpu, struct pci_device *d)
{
	struct vm *vm = d->vm;

	for (unsigned i = 0; i < PCI_BARS; i++) {
		struct pci_window *b = &d->bar[i];
		u64 at = 0;
		bool on = is_memory(b) && pci_config_bar(&d->config, i, &at);

		if (b->mapped && (!on || b->at != at)) {
			unmap(vcpu, b, b->at);
			vm_set_mmio(vm, b, 0, 0);
		}
		/* Where something else is it is nowhere, and that stays. */
		if (!on || b->mapped || !is_free(vm, b, at))
			continue;
		if (map(vm, b, at))
			unmap(vcpu, b, at);
		else if (b->nr_traps)
			vm_set_mmio(vm, b, at, size_of(b));
	}
}

/* Each trap for itself: what lies between, which may be gigabytes, takes no address space. */
static int map_traps(struct pci_window *b)
{
	for (unsigned i = 0; i < b->nr_traps; i++) {
		struct pci_trap *t = &b->trap[i];

		t->regs = host_mmio_map(hpa(host_base(b).v + t->start), t->end - t->start);
		if (!t->regs)
			return -ENOMEM;
	}
	return 0;
}

static int create_one(struct pci_device *d, struct pci_window *b)
{
	u64 at = host_base(b).v;
	int err;

	/* What is trapped, too: the hypervisor reads and writes it for the guest. */
	if (!host_may_map(hpa(at), size_of(b), false)) {
		vm_tell(d->vm,
			"pci: " PCI_FORMAT ": its BAR %u at %#lx is over what is the platform's",
			PCI_FORMAT_ARGS(d->host->address), b->index, at);
		return -EPERM;
	}
	find_traps(b);
	err = map_traps(b);
	if (!err && b->nr_traps)
		err = vm_register_mmio(d->vm, gpa(at), size_of(b), &trap_ops, b);
	if (!err && pci_config_bar(&d->config, b->index, &at))
		err = is_free(d->vm, b, at) ? map(d->vm, b, at) : -EEXIST;
	else if (!err && b->nr_traps)
		vm_set_mmio(d->vm, b, 0, 0);
	if (err)
		vm_tell(d->vm, "pci: " PCI_FORMAT ": cannot map its BAR %u at %#lx: %s",
			PCI_FORMAT_ARGS(d->host->address), b->index, host_base(b).v,
			err == -EEXIST ? "something of the VM's is there"
				       : "no memory left for the hypervisor itself");
	return err;
}

int pci_bars_create(struct pci_device *d)
{
	int err = 0;

	for (unsigned i = 0; !err && i < PCI_BARS; i++) {
		d->bar[i].dev = d;
		d->bar[i].index = i;
		if (is_memory(&d->bar[i]))
			err = create_one(d, &d->bar[i]);
	}
	return err;
}

/* Ports that the guest's own platform has stay with it. */
static bool ports_free(const struct vm *vm, u64 port, u64 count)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_pio; i++)
		if (port < all->pio[i].base + all->pio[i].count && all->pio[i].base < port + count)
			return false;
	return port + count <= 0x10000;
}

void pci_bars_open_ports(struct vcpu *vcpu, struct pci_device *d)
{
	for (unsigned i = 0; i < PCI_BARS; i++) {
		u64 port = d->host->bar[i].base, count = d->host->bar[i].size;

		if (!port || !count || !pci_bar_is_io(&d->host->bar[i]))
			continue;
		if (ports_free(d->vm, port, count) && host_may_open(port, count))
			hvm->intercept_io(vcpu, (u16)port, (unsigned)count, false);
		else if (!vcpu->id)
			vm_tell(d->vm,
				"pci: the ports at %#lx are not passed through: something of the VM's or the platform's is "
				"there",
				port);
	}
}
