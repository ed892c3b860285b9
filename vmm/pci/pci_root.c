/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's PCI functions (pci_assign.c says which) in the configuration space
 * where its guest finds them, by ECAM where the host has that and by mechanism 1
 * (PCI Local Bus 3.0, 3.2.2.3.2). Every function has its host address: each bus
 * with one is a root bus of its own (guest_acpi.c), so there are no bridges.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/memory/shootdown.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_end.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/pci_stand_in.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/vm/ranges.h"
#include "vmm/stage.h"
#include "vmm/vm/vdev.h"

/*
 * Two APICs, the wake pin, the ECAM, virtual functions' BARs, and each of a function's, which exits
 * whole if it shares a page.
 */
static_assert(VM_MAX_MMIO >= 3 + 1 + PCI_VIRTUAL_MAX + VM_PCI_FUNCTIONS * PCI_BARS,
	      "room for all that a VM's functions register");

/* What there is of each function; of VMs with functions alone. */
struct functions {
	struct host_pci_function host[VM_PCI_FUNCTIONS];
	struct pci_device *device[VM_PCI_FUNCTIONS];
	struct vm_pci_intx intx[VM_PCI_FUNCTIONS];
	struct vm_pci_line line[VM_PCI_FUNCTIONS];
	struct pci_end_function end[VM_PCI_FUNCTIONS];
};

struct root {
	struct vm_pci pci;
	struct pci_end end;
	struct functions *functions;
	u32 address; /* mechanism 1's register, one for all vCPUs as on a PC */
	struct pci_stand_ins stand_ins;
};

/* ---- configuration space ----------------------------------------------------------- */

static struct pci_device *find_device(const struct root *r, u8 bus, u8 devfn)
{
	for (unsigned i = 0; i < r->pci.nr_functions; i++)
		if (r->pci.function[i].address.bus == bus &&
		    r->pci.function[i].address.devfn == devfn)
			return r->pci.device[i];
	return NULL;
}

static u32 io_read(void *ctx, u16 offset, unsigned size)
{
	return host_pci_read((unsigned)(uintptr_t)ctx, offset, size);
}

static void io_write(void *ctx, u16 offset, unsigned size, u32 value)
{
	host_pci_write((unsigned)(uintptr_t)ctx, offset, size, value);
}

bool pci_root_has_line(const struct pci_device *d)
{
	return d->vm->pci->intx[d->host - d->vm->pci->function].has_gsi;
}

int pci_root_configure(struct pci_device *d, unsigned *nr_caps)
{
	const struct host_pci_function *f = d->host;
	const struct pci_config_io io = { io_read, io_write, (void *)(uintptr_t)f->index };
	struct pci_cap cap[PCI_CONFIG_CAPS];
	int err;

	*nr_caps = host_pci_caps(f->index, cap, ARRAY_SIZE(cap));
	pci_vfs_show(d, cap, MIN(*nr_caps, ARRAY_SIZE(cap)));
	err = pci_config_init(&d->config, &io, f->bar, f->extended, pci_root_has_line(d), cap,
			      *nr_caps);
	if (!err)
		pci_config_path(&d->config, host_pci_path(f->index));
	return err;
}

/* The guest has asked for a reset. */
static void reset(struct vcpu *vcpu, struct pci_device *d)
{
	d->gated = pci_config_master_gated(&d->config);
	/*
	 * No vCPU may reach its BARs meanwhile: what does not answer is an error of the machine on
	 * some.
	 */
	pci_config_clear(&d->config);
	pci_bars_update(vcpu, d);
	pci_wait_begin(vcpu, d, PCI_RESETS);
}

static u32 config_read(struct root *r, struct vcpu *vcpu, u32 bdf, u16 offset, unsigned size)
{
	const struct pci_device *d = find_device(r, (u8)(bdf >> 8), (u8)bdf);
	u32 value;

	if (pci_virtual_read(vcpu->vm, bdf, offset, size, &value))
		return value;
	if (!d)
		return pci_shadow(&r->pci, bdf, offset, size, &value)
			       ? value
			       : pci_stand_in_read(&r->stand_ins, (u8)(bdf >> 8), (u8)bdf, offset,
						   size);
	vm_stage2_lock(vcpu);
	value = pci_is_away(d) ? ~0u : pci_device_read(d, offset, size);
	vm_stage2_unlock(vcpu->vm);
	return value;
}

static void config_write(struct root *r, struct vcpu *vcpu, u32 bdf, u16 offset, unsigned size,
			 u32 value)
{
	struct pci_device *d = find_device(r, (u8)(bdf >> 8), (u8)bdf);
	unsigned changed;

	if (pci_virtual_write(vcpu, bdf, offset, size, value) || !d)
		return;
	vm_stage2_lock(vcpu);
	changed = pci_is_away(d) ? 0 : pci_device_write(d, offset, size, value);
	if (changed & PCI_CHANGED_VFS)
		pci_wait_begin(vcpu, d,
			       d->sriov.control & PCI_SRIOV_ENABLE ? PCI_VFS_COME : PCI_VFS_GO);
	/* While its virtual functions come or go it has none. */
	if (changed & PCI_CHANGED_RESET && !d->busy)
		reset(vcpu, d);
	if (changed & PCI_CHANGED_DECODE) {
		pci_bars_update(vcpu, d);
		pci_config_unmapped(&d->config);
	}
	if (changed & PCI_CHANGED_MSI)
		pci_msi_update(d);
	if (changed & PCI_CHANGED_MSIX)
		pci_msix_update(d);
	pci_master_tell(d);
	vm_stage2_unlock(vcpu->vm);
}

static u64 ecam_read(void *dev, struct vcpu *vcpu, u64 offset, unsigned size)
{
	return config_read(dev, vcpu, (u32)(offset >> PCI_ECAM_SHIFT), offset & 0xfff, size);
}

static void ecam_write(void *dev, struct vcpu *vcpu, u64 offset, unsigned size, u64 value)
{
	config_write(dev, vcpu, (u32)(offset >> PCI_ECAM_SHIFT), offset & 0xfff, size, (u32)value);
}

static const struct mmio_ops ecam_ops = { .sizes = 1 | 2 | 4,
					  .read = ecam_read,
					  .write = ecam_write };

static u32 address_read(void *dev, struct vcpu *, u16, unsigned)
{
	const struct root *r = dev;

	return __atomic_load_n(&r->address, __ATOMIC_RELAXED);
}

static void address_write(void *dev, struct vcpu *, u16, unsigned, u32 value)
{
	struct root *r = dev;

	__atomic_store_n(&r->address, value & ~0x7f000003u, __ATOMIC_RELAXED);
}

static const struct pio_ops address_ops = { .sizes = 4,
					    .read = address_read,
					    .write = address_write };

static u32 data_read(void *dev, struct vcpu *vcpu, u16 offset, unsigned size)
{
	struct root *r = dev;
	u32 a = __atomic_load_n(&r->address, __ATOMIC_RELAXED);

	return a & PCI_CONFIG_ENABLE
		       ? config_read(r, vcpu, a >> 8 & 0xffff, (u16)((a & 0xfc) + offset), size)
		       : ~0u;
}

static void data_write(void *dev, struct vcpu *vcpu, u16 offset, unsigned size, u32 value)
{
	struct root *r = dev;
	u32 a = __atomic_load_n(&r->address, __ATOMIC_RELAXED);

	if (a & PCI_CONFIG_ENABLE)
		config_write(r, vcpu, a >> 8 & 0xffff, (u16)((a & 0xfc) + offset), size, value);
}

static const struct pio_ops data_ops = { .sizes = 1 | 2 | 4,
					 .read = data_read,
					 .write = data_write };

/* ---- functions ----------------------------------------------------------------------- */

static int create_device(struct vm *vm, struct root *r, unsigned n)
{
	const struct host_pci_function *f = &r->pci.function[n];
	struct pci_device *d = host_pages_alloc(PAGES_OF(struct pci_device), -1);
	unsigned nr;
	int err;

	if (!d)
		return host_no_memory(vm->name);
	r->pci.device[n] = d;
	d->vm = vm;
	d->host = f;
	if (pci_vf_join(d) || pci_intx_create(vm, n))
		return -ENODEV;
	if (pci_root_configure(d, &nr))
		return pci_refuse(vm, PCI_FORMAT " has too many capabilities, or they do not fit",
				  PCI_FORMAT_ARGS(f->address));
	pci_master_create(d);
	err = pci_msi_create(d);
	if (!err)
		err = pci_bars_create(d);
	if (err)
		return err;
	pci_msi_clean(d);
	vm_tell(vm, "pci: " PCI_FORMAT " %04x:%04x class %06x, %u capabilities, MSI-X %u",
		PCI_FORMAT_ARGS(f->address), f->id.vendor, f->id.device, f->id.class_code, nr,
		d->nr_msix);
	return 0;
}

/* What becomes of function i. */
static void tell(struct vm *vm, const struct root *r, unsigned i, bool blocked)
{
	const struct host_pci_function *f = &r->pci.function[i];

	if (r->end.of[i].lingers)
		vm_tell(vm,
			"pci: " PCI_FORMAT " is slow to reset: until that is over nobody has it%s",
			PCI_FORMAT_ARGS(f->address), blocked ? "" : ", nor the VM's memory");
	else if (r->end.of[i].result)
		vm_tell(vm, "pci: " PCI_FORMAT " does not stop: it %s not used any more",
			PCI_FORMAT_ARGS(f->address), blocked ? "is" : "and the VM's memory are");
}

/* Of function i, which has been reset, or is slow to, or does not stop. */
static void let_go(struct vm *vm, struct root *r, unsigned i)
{
	const struct host_pci_function *f = &r->pci.function[i];
	struct pci_device *d = r->pci.device[i];
	bool lingers = r->end.of[i].lingers, obeys = !r->end.of[i].result;
	bool blocked = pci_iommu_block(&r->pci, i);

	tell(vm, r, i, blocked);
	vm->quarantined = vm->quarantined || (!obeys && !lingers && !blocked);
	pci_vf_leave(d);
	if (d)
		pci_msi_destroy(d);
	host_pages_free(d, PAGES_OF(struct pci_device));
	if (obeys)
		pci_release(f);
	else
		pci_resets(f, lingers);
	r->end.of[i].writes = !blocked;
	if (lingers)
		vm->pci_end = &r->end;
}

void pci_root_free(struct pci_end *e)
{
	struct root *r = container_of(e, struct root, end);

	host_pages_free(r->functions, PAGES_OF(struct functions));
	host_pages_free(r, PAGES_OF(struct root));
}

static void root_destroy(struct vm *vm, void *instance)
{
	struct root *r = instance;

	if (!r)
		return;
	/* Before anything of the VM's is given to others. */
	pci_end_begin(&r->end, &r->pci);
	pci_end_wait(&r->end);
	for (unsigned i = 0; i < r->pci.nr_functions; i++)
		let_go(vm, r, i);
	pci_iommu_destroy(vm, &r->pci);
	pci_intx_destroy(&r->pci);
	vm->pci = NULL;
	if (vm->pci_end)
		memcpy(r->end.name, vm->name, sizeof(r->end.name));
	else
		pci_root_free(&r->end);
}

/*
 * At the end of a VM with a CPU that does not answer its functions are reset, and stay its own;
 * nobody waits for a VF of its from here on.
 */
static void abandon_functions(struct vm *vm)
{
	struct root *r;

	if (!vm->pci)
		return;
	r = container_of(vm->pci, struct root, pci);
	pci_end_begin(&r->end, &r->pci);
	/*
	 * What is slow then goes on by itself; it has ended what it did, and all that it may reach
	 * stays.
	 */
	pci_end_wait(&r->end);
	for (unsigned i = 0; i < r->pci.nr_functions; i++)
		pci_vf_leave(r->pci.device[i]);
}
VM_ABANDON(ABANDON_FUNCTIONS, abandon_functions);

int pci_root_ecam(struct vm *vm, u64 base, u8 last_bus)
{
	struct vm_pci *pci = vm->pci;

	pci->ecam = true;
	pci->ecam_base = base;
	pci->last_bus = last_bus;
	return vm_register_mmio(vm, gpa(base), (last_bus + 1) * PCI_ECAM_BUS_SIZE, &ecam_ops,
				container_of(pci, struct root, pci));
}

static int create_functions(struct vm *vm, struct root *r)
{
	struct functions *f;

	if (!vm->config->nr_pci)
		return 0;
	f = r->functions = host_pages_alloc(PAGES_OF(struct functions), -1);
	if (!f)
		return host_no_memory(vm->name);
	r->pci.function = f->host;
	r->pci.device = f->device;
	r->pci.intx = f->intx;
	r->pci.line = f->line;
	r->end.of = f->end;
	return 0;
}

static int root_create(struct vm *vm, void **instance)
{
	struct root *r = *instance = host_pages_alloc(PAGES_OF(struct root), -1);
	u8 last_bus;
	u64 base;
	int err;

	if (!r)
		return host_no_memory(vm->name);
	err = create_functions(vm, r);
	if (err)
		return err;
	/* Without functions there is no root in ACPI, but a place where kernels look for one. */
	vm->pci = vm->config->nr_pci || vm_config_virtual(vm->config) ? &r->pci : NULL;
	if (vm->config->nr_pci && host_pci_ecam(&base, &last_bus))
		err = pci_root_ecam(vm, base, last_bus);
	if (!err)
		err = pci_assign(vm, &r->pci);
	if (!err)
		err = pci_iommu_create(vm, &r->pci);
	if (!err)
		err = vm_register_pio(vm, PCI_CONFIG_ADDRESS, 1, &address_ops, r);
	if (!err)
		err = vm_register_pio(vm, PCI_CONFIG_DATA, 4, &data_ops, r);
	for (unsigned i = 0; !err && i < r->pci.nr_functions; i++)
		err = create_device(vm, r, i);
	if (!err)
		err = pci_iommu_attach(vm, &r->pci);
	if (err)
		return err;
	pci_stand_ins(&r->pci, &r->stand_ins);
	return 0;
}

static void root_vcpu_start(struct vcpu *vcpu, void *instance)
{
	const struct root *r = instance;

	for (unsigned i = 0; i < r->pci.nr_functions; i++)
		pci_bars_open_ports(vcpu, r->pci.device[i]);
}

static const struct vdev root_vdev = {
	.create = root_create,
	.destroy = root_destroy,
	.vcpu_start = root_vcpu_start,
};
VDEV(root_vdev);
