/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest asks of a function and what takes longer than an exit may: a reset, and virtual
 * functions that come and go. The vCPU whose guest asked stays out of the guest until it is over,
 * as on a machine where the write took that long; in its loop, where it answers kicks and ends with
 * its VM, and without the lock. To the others the function reads as ones while it is being reset.
 */
#include <margay/errno.h>

#include "vmm/memory/shootdown.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/stage.h"

void pci_wait_begin(struct vcpu *vcpu, struct pci_device *d, enum pci_busy busy)
{
	bool resets = busy == PCI_RESETS || busy == PCI_LEAVES;

	d->waits = vcpu;
	d->reset.since = host_tsc();
	if (resets)
		pci_reset_begin(&d->reset, d->host->index, pci_sriov_close(d));
	else if (busy == PCI_VFS_GO)
		pci_sriov_close(d);
	__atomic_store_n(&d->busy, busy, __ATOMIC_RELEASE);
	vcpu->pci_waits = true;
	vcpu_look(vcpu);
}

static int step(struct pci_device *d)
{
	switch (__atomic_load_n(&d->busy, __ATOMIC_ACQUIRE)) {
	case PCI_VFS_COME: return pci_sriov_on(d);
	case PCI_VFS_GO: return pci_sriov_off(d->host->index, d->reset.since);
	default: return pci_reset_step(&d->reset);
	}
}

/* The guest's reset is over. What does not come back is not there any more. */
static void come_back(struct vcpu *vcpu, unsigned n, int err)
{
	struct vm_pci *pci = vcpu->vm->pci;
	struct pci_device *d = pci->device[n];
	const struct host_pci_function *f = d->host;
	unsigned nr_caps;

	/* One whose reset is known to hang is just quiet. */
	d->gone = (err && err != -ENODEV) || pci_sriov_restore(d);
	if (!d->gone && pci_root_has_line(d))
		host_pci_write(f->index, PCI_REG_COMMAND, 2, 0);
	d->gone = d->gone || pci_root_configure(d, &nr_caps);
	if (d->gone) {
		vm_log(d->vm, "pci: " PCI_FORMAT " does not come back from a reset by its guest",
		       PCI_FORMAT_ARGS(f->address));
		pci_config_clear(&d->config);
	} else {
		pci_msi_clean(d);
	}
	/*
	 * What the guest has said of its DMA holds on; and what others have said of it meanwhile
	 * (pci_master.c).
	 */
	pci_config_gate_master(&d->config,
			       d->gated || vcpu->vm->end != VM_RUNNING || vm_pci_is_silent(pci, n));
	pci_bars_update(vcpu, d);
	pci_msi_reset(d);
}

/* What function n did, it has done. Which of the two a reset was, has been decided by now. */
static void is_over(struct vcpu *vcpu, unsigned n, int err)
{
	struct pci_device *d = vcpu->vm->pci->device[n];
	enum pci_busy busy;

	vm_stage2_lock(vcpu);
	busy = d->busy;
	if (busy == PCI_RESETS)
		come_back(vcpu, n, err);
	else if (busy == PCI_LEAVES)
		pci_sriov_pulled(vcpu, n, err);
	else if (busy == PCI_VFS_COME)
		pci_sriov_come(d, err);
	__atomic_store_n(&d->busy, PCI_FREE, __ATOMIC_RELEASE);
	vm_stage2_unlock(vcpu->vm);
	if (busy == PCI_LEAVES)
		pci_sriov_tell(vcpu);
	if (busy == PCI_VFS_COME && !err)
		pci_tell_waiting();
}

void pci_wait_go_on(struct vcpu *vcpu)
{
	const struct vm_pci *pci = vcpu->vm->pci;
	bool waits = false;

	for (unsigned i = 0; i < pci->nr_functions; i++) {
		struct pci_device *d = pci->device[i];
		int err;

		if (!__atomic_load_n(&d->busy, __ATOMIC_ACQUIRE) || d->waits != vcpu)
			continue;
		err = step(d);
		if (err == -EBUSY)
			waits = true;
		else
			is_over(vcpu, i, err);
	}
	vcpu->pci_waits = waits;
	__builtin_ia32_pause();
	host_interrupt_window();
}

/* Also while its VM is paused: another one may wait for the function. */
static bool wait_look(struct vcpu *vcpu)
{
	if (!vcpu->pci_waits)
		return false;
	pci_wait_go_on(vcpu);
	return true;
}

static const struct vcpu_look pci_look = { .at = LOOK_PCI_WAIT,
					   .look = wait_look,
					   .while_paused = true };
VCPU_LOOK(pci_look);
