/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which virtual functions (VFs) VMs may have, and which VM has which. Before VFs go, for whatever
 * reason, they are taken from the VMs that have them, as a device that is pulled out. How they come
 * and go: pci_sriov.c.
 */
#include <margay/errno.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "vmm/guest_platform.h"
#include "vmm/memory/shootdown.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm/intc.h"

/* guards user[] and open[], and keeps the devices and their VMs there */
static struct spinlock lock;
/* of VFs, by the host's index: the device of the VM that has it */
static struct pci_device *user[HOST_PCI_FUNCTIONS];
/*
 * VFs that VMs may have: they are on, and the PF's VM is not taking them back. None joins behind
 * one that looked for users.
 */
static bool open[HOST_PCI_FUNCTIONS];

void pci_vfs_open(unsigned pf, unsigned count)
{
	int vf;

	spin_lock(&lock);
	for (unsigned n = 0; (vf = host_sriov_vf(pf, n)) >= 0; n++)
		open[vf] = n < count;
	spin_unlock(&lock);
}

static bool is_open(int vf)
{
	bool is;

	spin_lock(&lock);
	is = vf >= 0 && open[vf];
	spin_unlock(&lock);
	return is;
}

int pci_sriov_join(struct pci_device *d)
{
	unsigned vf = d->host->index;
	bool can;

	if (!host_sriov_is_vf(vf))
		return 0;
	spin_lock(&lock);
	can = open[vf];
	if (can)
		user[vf] = d;
	spin_unlock(&lock);
	if (can)
		return 0;
	pci_refuse(
		d->vm,
		PCI_FORMAT
		": the VM that has its physical function has just switched it off: it is started when it is "
		"on again",
		PCI_FORMAT_ARGS(d->host->address));
	return -ENODEV;
}

void pci_sriov_leave(struct pci_device *d)
{
	spin_lock(&lock);
	if (user[d->host->index] == d)
		user[d->host->index] = NULL;
	spin_unlock(&lock);
}

bool vm_pci_has_vfs(const struct vm_config *c)
{
	struct host_pci_function f;

	for (unsigned n = 0; n < c->nr_pci; n++) {
		const struct vm_config_pci *want = &c->pci[n];
		bool on = want->by != VM_PCI_VF;

		for (unsigned i = 0; (want->by == VM_PCI_VF || want->by == VM_PCI_ADDRESS) &&
				     host_pci_function(i, &f);
		     i++)
			if (pci_same_address(&f.address, &want->address))
				on = want->by == VM_PCI_VF
					     ? is_open(host_sriov_vf(i, want->vf))
					     : !host_sriov_is_vf(i) || is_open((int)i);
		if (!on)
			return false;
	}
	return true;
}

int pci_sriov_take(struct vm *vm, const struct vm_config_pci *want, struct host_pci_function *f)
{
	int vf = want->by == VM_PCI_VF ? host_sriov_vf(f->index, want->vf) : (int)f->index;
	char name[24];

	if (want->by != VM_PCI_VF && !host_sriov_is_vf(f->index))
		return 0;
	if (want->by == VM_PCI_VF)
		snprintf(name, sizeof(name), "vf:" PCI_FORMAT ":%u", PCI_FORMAT_ARGS(f->address),
			 want->vf);
	else
		snprintf(name, sizeof(name), PCI_FORMAT, PCI_FORMAT_ARGS(f->address));
	if (vm->config->vfs)
		return pci_refuse(vm, "%s: vfs is not in a VM that has a virtual function itself",
				  name);
	if (!is_open(vf))
		return pci_refuse(
			vm,
			"%s: the VM that has its physical function has not switched it on (sriov_numvfs): it is "
			"started then",
			name);
	if (!vm->config->trusted && !host_iommu_on())
		return pci_refuse(
			vm,
			"%s: without an IOMMU who has it commands the node: only for VMs with trusted = yes",
			name);
	host_pci_function((unsigned)vf, f);
	return 0;
}

/*
 * On the VF's own VM's first vCPU: its registers are nowhere, and it reads as ones; its reset,
 * which may take long, begins.
 */
static void pull_out(struct vcpu *vcpu)
{
	struct vm_pci *pci = vcpu->vm->pci;

	vm_stage2_lock(vcpu);
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		struct pci_device *d = pci->device[i];

		if (!__atomic_load_n(&d->leaving, __ATOMIC_ACQUIRE) || d->gone ||
		    d->busy == PCI_LEAVES)
			continue;
		if (d->busy == PCI_RESETS) {
			/* By its guest's word: it goes when that is over. */
			__atomic_store_n(&d->busy, PCI_LEAVES, __ATOMIC_RELEASE);
			continue;
		}
		pci_config_clear(&d->config);
		pci_bars_update(vcpu, d);
		pci_wait_begin(vcpu, d, PCI_LEAVES);
	}
	vm_stage2_unlock(vcpu->vm);
}

void pci_sriov_pulled(struct vcpu *vcpu, unsigned n, int err)
{
	struct vm_pci *pci = vcpu->vm->pci;
	struct pci_device *d = pci->device[n];
	bool blocked = pci_iommu_block(pci, n);

	if (err && err != -ENODEV) {
		vm_tell(d->vm, "pci: " PCI_FORMAT " does not stop%s",
			PCI_FORMAT_ARGS(d->host->address),
			blocked ? "" : ": the VM's memory is not used any more");
		d->vm->quarantined = d->vm->quarantined || !blocked;
	}
	pci_msi_reset(d);
	vm_tell(d->vm,
		"pci: " PCI_FORMAT
		" is gone: the VM that has its physical function has switched it off",
		PCI_FORMAT_ARGS(d->host->address));
	__atomic_store_n(&d->gone, true, __ATOMIC_RELEASE);
}

void pci_sriov_tell(struct vcpu *vcpu)
{
	vcpu->vm->intc->line(vcpu->vm, GUEST_VFS_GSI, true);
	vcpu->vm->intc->line(vcpu->vm, GUEST_VFS_GSI, false);
}

/* Has nobody the VF any more? Else its VM is asked, again where it was busy. */
static bool is_free(unsigned vf)
{
	struct pci_device *d;
	bool free;

	spin_lock(&lock);
	d = user[vf];
	free = !d || __atomic_load_n(&d->gone, __ATOMIC_ACQUIRE);
	if (!free) {
		__atomic_store_n(&d->leaving, true, __ATOMIC_RELEASE);
		/*
		 * One that is being made or taken down has no vCPU that runs: soon it has, or the
		 * VF is back.
		 */
		if (d->vm->nr_vcpus && d->vm->vcpus[0] &&
		    __atomic_load_n(&d->busy, __ATOMIC_ACQUIRE) != PCI_LEAVES)
			(void)vcpu_call(d->vm->vcpus[0], pull_out);
	}
	spin_unlock(&lock);
	return free;
}

bool pci_vfs_are_free(unsigned pf)
{
	bool all = true;
	int vf;

	for (unsigned n = 0; (vf = host_sriov_vf(pf, n)) >= 0; n++)
		all = is_free((unsigned)vf) && all;
	return all;
}
