/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which memory a VM's functions reach where the node has IOMMUs: the VM's own, by the addresses
 * that its guest gives them.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/memory/shootdown.h"
#include "vmm/slots/node_events.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm_parts.h"

int pci_iommu_check_group(struct vm *vm, const struct pci_info *info)
{
	struct host_pci_function other;
	char name[VM_NAME_MAX + 1];
	const char *state;
	int i = pci_neighbour(vm->config, &info->group, name, &state);

	if (i < 0 || !host_pci_function((unsigned)i, &other))
		return 0;
	return pci_refuse(vm,
			  PCI_FORMAT " and " PCI_FORMAT
				     " cannot be kept apart (no ACS), and that is %s's%s",
			  PCI_FORMAT_ARGS(info->address), PCI_FORMAT_ARGS(other.address), name,
			  state);
}

static const char *const modes[] = {
	[VM_DMA_IDENTITY] = "dma = identity",
	[VM_DMA_WINDOW] = "dma = window",
	[VM_DMA_IOMMU] = "dma = iommu",
};

/* ---- faults ----------------------------------------------------------------------------- */

/*
 * The guest's Bus Master Enable is its own from now on, the device's is off: neither DMA nor
 * messages.
 */
static void silence(struct vcpu *vcpu)
{
	struct vm_pci *pci = vcpu->vm->pci;

	vm_stage2_lock(vcpu);
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		struct pci_config *c = &pci->device[i]->config;

		if (!(__atomic_load_n(&pci->silent, __ATOMIC_RELAXED) & BIT(i)) ||
		    pci_config_master_gated(c))
			continue;
		pci_config_gate_master(c, true);
		/* No line of pci_master.c: it does not wait for its guest. */
		pci->told = true;
		vm_tell(vcpu->vm,
			"pci: " PCI_FORMAT
			" goes on with what is blocked: it is silent until the VM starts again",
			PCI_FORMAT_ARGS(pci->function[i].address));
	}
	vm_stage2_unlock(vcpu->vm);
}

static void blocked(void *arg, unsigned index, bool storm)
{
	struct vm *vm = arg;
	struct vm_pci *pci = vm->pci;

	if (vm->config->on_fault != ON_FAULT_REPORT)
		vm_end(vm, VM_END_FAULT);
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		if (pci->function[i].index != index)
			continue;
		event_often(vm->id, "fault", PCI_FORMAT " has reached for what is not the VM's",
			    PCI_FORMAT_ARGS(pci->function[i].address));
		if (storm)
			__atomic_fetch_or(&pci->silent, BIT(i), __ATOMIC_RELAXED);
	}
	/* If it is busy the next fault asks again. */
	if (storm && vm->nr_vcpus)
		vcpu_call(vm->vcpus[0], silence);
}

bool pci_iommu_text(unsigned i, char *text, size_t size)
{
	struct host_iommu_state s;

	if (!host_iommu_state(i, &s))
		return false;
	if (s.domain)
		snprintf(text, size, "domain %u, %s; blocked: DMA %lu, interrupts %lu", s.domain,
			 s.mode, s.dma, s.interrupts);
	else
		snprintf(text, size, "reaches nothing; blocked: DMA %lu, interrupts %lu", s.dma,
			 s.interrupts);
	return true;
}

/* ---- domains ---------------------------------------------------------------------------- */

static int fill(struct vm *vm)
{
	const struct gpa_map *map = &vm_parts(vm)->map;
	int err = 0;

	for (unsigned i = 0; !err && i < map->count; i++)
		err = vm_domain_map(vm, gpa(map->region[i].gpa), hpa(map->region[i].hpa),
				    map->region[i].size);
	return err;
}

static int refuse(struct vm *vm, int err)
{
	switch (err) {
	case 0: return 0;
	case -ENOMEM: return host_no_memory(vm->name);
	case -ERANGE:
		return pci_refuse(vm, "its memory ends beyond the address bits of the IOMMUs");
	default: return pci_refuse(vm, "the IOMMU of one of its functions does not work");
	}
}

/*
 * Registers of a BAR, where the host has them: for other functions of the VM. Without what is
 * trapped: who writes a table of messages makes interrupts.
 */
static int fill_bar(struct host_iommu *d, const struct pci_bar *bar, const struct pci_window *w)
{
	u64 at = 0, end;
	int err = 0;

	for (unsigned t = 0; !err && t <= w->nr_traps; t++) {
		end = t < w->nr_traps ? w->trap[t].start : bar->size;
		if (end > at)
			err = !host_may_map(hpa(bar->base + at), end - at, false)
				      ? -EPERM
				      : host_iommu_map(d, bar->base + at, hpa(bar->base + at),
						       end - at);
		at = t < w->nr_traps ? w->trap[t].end : end;
	}
	return err;
}

static int fill_registers(struct vm *vm, const struct vm_pci *pci)
{
	for (unsigned i = 0; i < pci->nr_functions; i++)
		for (unsigned b = 0; b < PCI_ROM_BAR; b++) {
			const struct host_pci_function *f = &pci->function[i];
			int err;

			if (!f->bar[b].base || f->bar[b].size < PAGE_SIZE ||
			    pci_bar_is_io(&f->bar[b]))
				continue;
			err = fill_bar(vm_parts(vm)->domain, &f->bar[b], &pci->device[i]->bar[b]);
			if (err == -ENOMEM)
				return err;
			if (err)
				vm_tell(vm,
					"pci: no DMA to BAR%u of " PCI_FORMAT
					": its address is the guest's RAM's, or beyond "
					"the IOMMU's",
					b, PCI_FORMAT_ARGS(f->address));
		}
	return 0;
}

/* The addresses are right; whether what carries them lets them pass is the machine's. */
static void tell_of_root(struct vm *vm, const struct vm_pci *pci)
{
	struct pci_info first, other;

	for (unsigned i = 1; i < pci->nr_functions; i++)
		if (host_pci_info(pci->function[0].index, &first) &&
		    host_pci_info(pci->function[i].index, &other) &&
		    !pci_same_address(&first.group, &other.group)) {
			vm_tell(vm,
				"pci: DMA between " PCI_FORMAT " and " PCI_FORMAT
				" passes the root complex, if that lets it",
				PCI_FORMAT_ARGS(first.address), PCI_FORMAT_ARGS(other.address));
			return;
		}
}

int pci_iommu_create(struct vm *vm, struct vm_pci *pci)
{
	int err;

	if (!pci->nr_functions)
		return 0;
	if (!host_iommu_on() && vm->config->dma == VM_DMA_IOMMU)
		return pci_refuse(
			vm,
			"the node has no IOMMU, none that Margay knows, or it is off (iommu=off): "
			"dma = identity or window needs none");
	if (!host_iommu_on())
		return vm->config->on_fault == ON_FAULT_REPORT
			       ? 0
			       : pci_refuse(vm,
					    "on_fault: the node has no IOMMU that blocks anything");
	pci->user = (struct host_iommu_user){ vm->config->name, modes[vm->config->dma], blocked, vm,
					      host_cpu_info(vm->host_cpu[0])->node };
	err = host_iommu_create(&pci->user, &vm_parts(vm)->domain);
	if (err == -ENOSPC)
		return pci_refuse(vm, "its IOMMUs hold no more VMs");
	return refuse(vm, err ? err : fill(vm));
}

int pci_iommu_attach(struct vm *vm, struct vm_pci *pci)
{
	struct host_iommu *d = vm_parts(vm)->domain;
	int err = pci->nr_functions > 1 && d ? fill_registers(vm, pci) : 0;

	if (!d)
		return 0;
	for (unsigned i = 0; !err && i < pci->nr_functions; i++) {
		err = host_iommu_attach(d, pci->function[i].index);
		/* A unit that did not answer to this may have it all the same. */
		pci->attached += !err || err == -EIO;
	}
	if (!err)
		tell_of_root(vm, pci);
	return refuse(vm, err);
}

bool pci_iommu_block(struct vm_pci *pci, unsigned n)
{
	const struct host_pci_function *f = &pci->function[n];
	bool detached = n < pci->attached && !host_iommu_detach(f->index);
	struct host_iommu_state s;

	pci->stuck = pci->stuck || (n < pci->attached && !detached);
	if (IS_ENABLED(CONFIG_TELEMETRY) && n < pci->attached && host_iommu_state(f->index, &s) &&
	    (s.dma || s.interrupts))
		host_log("%s: pci: " PCI_FORMAT ": blocked-dma=%lu blocked-interrupts=%lu",
			 pci->user.name, PCI_FORMAT_ARGS(f->address), s.dma, s.interrupts);
	return detached;
}

void pci_iommu_destroy(struct vm *vm, const struct vm_pci *pci)
{
	/*
	 * A unit that did not answer may go on looking at the tables, and tells of what it blocks;
	 * pci goes.
	 */
	if (pci->stuck)
		host_iommu_abandon(vm_parts(vm)->domain);
	else
		host_iommu_destroy(vm_parts(vm)->domain);
	vm_parts(vm)->domain = NULL;
}
