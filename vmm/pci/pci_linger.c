/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that take long to stop when their VM has ended: its CPUs are free, and CPUs that have
 * nothing to do go on with the resets. Until one has stopped it is nobody's, and nor is the VM's
 * memory, if the function might write there. Who waits for one is started then.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/monitor.h"
#include "vmm/pci/pci_end.h"
#include "vmm/stage.h"

/* One of them is over. */
static void settle(struct pci_end *e, unsigned i)
{
	const struct host_pci_function *f = &e->pci->function[i];

	e->of[i].lingers = false;
	if (e->of[i].result) {
		host_log("%s: pci: " PCI_FORMAT " does not stop: it is not used any more", e->name,
			 PCI_FORMAT_ARGS(f->address));
		pci_resets(f, false);
		return;
	}
	host_log("%s: pci: " PCI_FORMAT " has been reset: others may have it", e->name,
		 PCI_FORMAT_ARGS(f->address));
	pci_release(f);
}

/* Is there one with this result that may write to the VM's memory? */
static bool any_writes(const struct pci_end *e, int result)
{
	for (unsigned i = 0; i < e->count; i++)
		if (e->of[i].writes && e->of[i].result == result)
			return true;
	return false;
}

/*
 * As soon as none is waited for that may write there it is others', whatever else of the VM goes
 * on; or nobody's.
 */
static void settle_memory(struct pci_end *e)
{
	bool lost = any_writes(e, -EIO);

	if (!e->nr_extents || any_writes(e, -EBUSY))
		return;
	host_log(lost ? "%s: pci: its memory is not used any more, either"
		      : "%s: pci: others may have its memory",
		 e->name);
	vm_let_extents(e->extent, e->nr_extents, !lost);
	e->nr_extents = 0;
}

static bool go_on(struct host_idle_work *work)
{
	struct pci_end *e = container_of(work, struct pci_end, idle);
	bool left = pci_end_step(e), settled = false;

	for (unsigned i = 0; i < e->count; i++)
		if (e->of[i].lingers && e->of[i].result != -EBUSY) {
			settle(e, i);
			settled = true;
		}
	settle_memory(e);
	if (!left)
		pci_root_free(e);
	if (settled)
		pci_tell_waiting();
	if (!left)
		monitor_put_running();
	return left;
}

/* What nothing keeps such functions from writing to: it stays theirs. */
static void keep_vm_destroy(struct vm *vm)
{
	struct pci_end *e = vm->pci_end;

	/* Where it is lost already, it is. */
	if (!e || !any_writes(e, -EBUSY) || vm->quarantined)
		return;
	for (unsigned i = 0; i < vm->nr_extents; i++) {
		e->extent[i] = vm->extent[i];
		e->extent[i].zero = false;
	}
	e->nr_extents = vm->nr_extents;
	vm->nr_extents = 0;
	vm_keep_extents(e->extent, e->nr_extents);
}

static const struct vm_stage keep_stage = { .at = STAGE_KEEP, .destroy = keep_vm_destroy };
VM_STAGE(keep_stage);

/* The VM's memory and CPUs are others' by now. */
static void linger_vm_destroy(struct vm *vm)
{
	struct pci_end *e = vm->pci_end;

	if (!e)
		return;
	/* The node's end waits for it: a VM may start then. */
	monitor_get_running();
	e->idle.step = go_on;
	host_idle_work(&e->idle);
}

static const struct vm_stage linger_stage = { .at = STAGE_LINGER, .destroy = linger_vm_destroy };
VM_STAGE(linger_stage);
