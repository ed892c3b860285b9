/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the node's PCI functions a VM gets, and who has them. */
#include <margay/errno.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_fitness.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/vm.h"

static struct spinlock lock; /* guards owned[] */

/*
 * By the host's index. When its VM has ended that stays the owner until the function has stopped.
 */
static struct {
	const struct vm_config *by; /* NULL: nobody */
	/* as it was then: one that is being reset says nothing of that */
	struct pci_address group;
	enum { RUNS, RESETS, STUCK } state;
} owned[HOST_PCI_FUNCTIONS];

static void (*on_free)(void); /* set before any VM runs; NULL: nobody waits */

void vm_pci_on_free(void (*fn)(void))
{
	on_free = fn;
}

void pci_tell_waiting(void)
{
	if (on_free)
		on_free();
}

static bool matches(const struct vm_config_pci *want, const struct host_pci_function *f)
{
	switch (want->by) {
	case VM_PCI_ADDRESS:
	case VM_PCI_VF: return pci_same_address(&f->address, &want->address);
	case VM_PCI_CLASS: return f->id.class_code >> 8 == want->class_code;
	default: return f->id.vendor == want->vendor && f->id.device == want->device;
	}
}

int pci_refuse(struct vm *vm, const char *fmt, ...)
{
	const struct vm_config *c = vm->config;
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vm_tell(vm, "%s:%u: pci: %s", c->file, c->line_pci, text);
	return -EINVAL;
}

/* Takes the function for this VM; the name of who has it otherwise. */
static const char *take_function(struct vm *vm, const struct host_pci_function *f,
				 struct pci_address group)
{
	const struct vm_config *has;

	spin_lock(&lock);
	has = owned[f->index].by;
	if (!has) {
		owned[f->index].by = vm->config;
		owned[f->index].group = group;
	}
	spin_unlock(&lock);
	return has ? has->name : NULL;
}

bool vm_pci_owner(unsigned i, char name[VM_NAME_MAX + 1])
{
	const struct vm_config *has = NULL;

	if (i >= HOST_PCI_FUNCTIONS)
		return false;
	spin_lock(&lock);
	has = owned[i].by;
	if (has)
		memcpy(name, has->name, VM_NAME_MAX + 1);
	spin_unlock(&lock);
	return has;
}

bool vm_pci_holds(const struct vm_config *c)
{
	bool any = false;

	spin_lock(&lock);
	for (unsigned i = 0; i < HOST_PCI_FUNCTIONS; i++)
		any = any || owned[i].by == c;
	spin_unlock(&lock);
	return any;
}

/* To follow the name of the VM that has it. */
static const char *const states[] = {
	[RUNS] = "",
	[RESETS] = " still: it is being reset",
	[STUCK] =
		" still: it did not stop when that ended, and is not used until the node restarts",
};

int pci_neighbour(const struct vm_config *c, const struct pci_address *group,
		  char name[VM_NAME_MAX + 1], const char **state)
{
	int found = -1;

	spin_lock(&lock);
	for (int i = 0; found < 0 && i < HOST_PCI_FUNCTIONS; i++)
		if (owned[i].by && owned[i].by != c && pci_same_address(&owned[i].group, group)) {
			memcpy(name, owned[i].by->name, VM_NAME_MAX + 1);
			*state = states[owned[i].state];
			found = i;
		}
	spin_unlock(&lock);
	return found;
}

static bool has_already(const struct vm_pci *pci, unsigned index)
{
	for (unsigned i = 0; i < pci->nr_functions; i++)
		if (pci->function[i].index == index)
			return true;
	return false;
}

/* Why it is this VM's own already: from this start, or from an earlier one (pci_release()). */
static const char *own_reason(const struct vm_pci *pci, const struct host_pci_function *f)
{
	if (has_already(pci, f->index))
		return " already: named twice";
	return states[owned[f->index].state == RESETS ? RESETS : STUCK];
}

static int assign(struct vm *vm, struct vm_pci *pci, const struct host_pci_function *f)
{
	const char *unfit, *has;
	struct pci_info info;

	unfit = host_pci_info(f->index, &info) ? pci_unfit(&info) : NULL;
	if (!unfit)
		unfit = host_iommu_unfit(f->index);
	if (unfit && host_sriov_is_vf(f->index) && !host_sriov_on(f->index))
		unfit = "the VM that has its physical function has just switched it off";
	if (unfit)
		return pci_refuse(vm, PCI_FORMAT " cannot be passed through: %s",
				  PCI_FORMAT_ARGS(f->address), unfit);
	if (pci->nr_functions == VM_PCI_FUNCTIONS)
		return pci_refuse(vm, "expected at most %u functions", VM_PCI_FUNCTIONS);
	has = take_function(vm, f, info.group);
	if (has)
		return pci_refuse(vm, PCI_FORMAT " is %s's%s", PCI_FORMAT_ARGS(f->address), has,
				  has == vm->config->name ? own_reason(pci, f)
							  : states[owned[f->index].state]);
	pci->function[pci->nr_functions++] = *f;
	return host_iommu_on() ? pci_iommu_check_group(vm, &info) : 0;
}

/* What the VM file says of functions is about functions that it has. */
static int check_facts(struct vm *vm, const struct vm_pci *pci,
		       const struct vm_config_pci_facts *facts, const char *key)
{
	for (unsigned n = 0; n < facts->count; n++) {
		const struct vm_config_pci_fact *fact = &facts->of[n];
		unsigned i = 0;

		while (i < pci->nr_functions &&
		       !pci_same_address(&pci->function[i].address, &fact->function))
			i++;
		if (i == pci->nr_functions)
			return pci_refuse(vm,
					  "%s is for " PCI_FORMAT ", which is not passed through",
					  key, PCI_FORMAT_ARGS(fact->function));
	}
	return 0;
}

/* What the VM file says comes before what firmware says. */
static int place(struct vm *vm, struct vm_pci *pci)
{
	const struct vm_config_pci_facts *nodes = &vm->config->pci_node;

	for (unsigned n = 0; n < nodes->count; n++) {
		const struct vm_config_pci_fact *fact = &nodes->of[n];

		if (fact->value >= host_node_count())
			return pci_refuse(vm, "pci_node: the machine has no node %u", fact->value);
		for (unsigned i = 0; i < pci->nr_functions; i++)
			if (pci->function[i].address.segment == fact->function.segment &&
			    pci->function[i].address.bus == fact->function.bus)
				pci->function[i].node = (int)fact->value;
	}
	return 0;
}

/*
 * An address or a VF that stands there twice is a slip; classes and IDs may meet, also in what an
 * address names.
 */
static bool is_slip(const struct vm_config *c, unsigned n)
{
	for (unsigned i = 0; c->pci[n].by == VM_PCI_ADDRESS && i < n; i++)
		if (c->pci[i].by == VM_PCI_ADDRESS &&
		    pci_same_address(&c->pci[i].address, &c->pci[n].address))
			return true;
	return c->pci[n].by == VM_PCI_VF;
}

static int refuse_missing(struct vm *vm, const struct vm_config_pci *want)
{
	switch (want->by) {
	case VM_PCI_ADDRESS:
	case VM_PCI_VF:
		return pci_refuse(vm, "the machine has no function " PCI_FORMAT,
				  PCI_FORMAT_ARGS(want->address));
	case VM_PCI_CLASS:
		return pci_refuse(vm, "the machine has no function of class %04x",
				  want->class_code);
	default:
		return pci_refuse(vm, "the machine has no function %04x:%04x", want->vendor,
				  want->device);
	}
}

/* All functions that the VM file's n-th word of pci = is for. */
static int assign_all(struct vm *vm, struct vm_pci *pci, unsigned n)
{
	const struct vm_config_pci *want = &vm->config->pci[n];
	struct host_pci_function f;
	bool found = false;
	int err;

	for (unsigned i = 0; host_pci_function(i, &f); i++) {
		/* A VF is only had as one, or by its address. */
		if ((want->by != VM_PCI_ADDRESS && host_sriov_is_vf(i)) || !matches(want, &f))
			continue;
		found = true;
		if (has_already(pci, i) && !is_slip(vm->config, n))
			continue;
		err = pci_sriov_take(vm, want, &f) ? -EINVAL : assign(vm, pci, &f);
		if (err)
			return err;
	}
	return found ? 0 : refuse_missing(vm, want);
}

int pci_assign(struct vm *vm, struct vm_pci *pci)
{
	const struct vm_config *c = vm->config;
	int err;

	for (unsigned n = 0; n < c->nr_pci; n++) {
		err = assign_all(vm, pci, n);
		if (err)
			return err;
	}
	if (pci_sriov_prepare(vm, pci))
		return -EINVAL;
	err = check_facts(vm, pci, &c->pci_irq, "pci_irq");
	if (!err)
		err = check_facts(vm, pci, &c->pci_node, "pci_node");
	if (!err)
		err = place(vm, pci);
	if (err)
		return err;
	for (unsigned i = 0; i < pci->nr_functions; i++)
		host_pci_open_way(pci->function[i].index);
	return 0;
}

static bool is_wanted(const struct vm_config *c, const struct host_pci_function *f)
{
	for (unsigned n = 0; n < c->nr_pci; n++)
		if (matches(&c->pci[n], f) ||
		    (c->pci[n].by == VM_PCI_VF && host_sriov_is_vf(f->index)))
			return true;
	return false;
}

/* Of a function that is nobody's; where IOMMUs are not used there are none. */
static bool in_group(unsigned i, const struct pci_address *group)
{
	struct pci_info info;

	return host_iommu_on() && !owned[i].by && host_pci_info(i, &info) &&
	       pci_same_address(&info.group, group);
}

/* Does it want function i, or another one that is not kept apart from that? Lock held. */
static bool is_concerned(const struct vm_config *c, unsigned i)
{
	struct host_pci_function f;

	for (unsigned k = 0; host_pci_function(k, &f); k++)
		if (is_wanted(c, &f) && (k == i || in_group(k, &owned[i].group)))
			return true;
	return false;
}

bool vm_pci_resetting(const struct vm_config *c, bool others)
{
	bool any = false;

	spin_lock(&lock);
	for (unsigned i = 0; !any && i < HOST_PCI_FUNCTIONS; i++)
		any = owned[i].state == RESETS && (!others || owned[i].by != c) &&
		      is_concerned(c, i);
	spin_unlock(&lock);
	return any;
}

void pci_resets(const struct host_pci_function *f, bool still)
{
	spin_lock(&lock);
	owned[f->index].state = still ? RESETS : STUCK;
	spin_unlock(&lock);
}

void pci_release(const struct host_pci_function *f)
{
	spin_lock(&lock);
	owned[f->index].by = NULL;
	owned[f->index].state = RUNS;
	spin_unlock(&lock);
}
