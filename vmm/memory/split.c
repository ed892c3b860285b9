/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Against iTLB multihit (Intel, CVE-2018-12207): where a guest's CPU has it, no large leaf can be
 * executed. One from which the guest fetches is split, for good.
 */
#include "vmm/memory/split.h"

#include <margay/errno.h>
#include "vmm/memory/guest_mem.h"
#include "vmm/memory/shootdown.h"
#include "vmm/vm_parts.h"

bool vm_splits(const struct vm *vm)
{
	if (vm->config->trusted)
		return false;
	for (unsigned i = 0; i < vm->nr_host_cpus; i++)
		if (host_mitigations(vm->host_cpu[i]).flags & MIT_SPLIT)
			return true;
	return false;
}

bool vm_execute(struct vcpu *vcpu, gpa_t gpa)
{
	struct stage2 *s = &vm_parts(vcpu->vm)->stage2;
	int err;

	if (!s->small_exec || !guest_ptr(vcpu->vm, gpa, 1))
		return false;
	vm_stage2_lock(vcpu);
	s->node = host_cpu_info(vcpu->cpu)->node;
	err = stage2_execute(s, gpa.v);
	vm_stage2_unlock(vcpu->vm);
	/* Other vCPUs may still have the old leaf, and come here, too. */
	shootdown_flush(vcpu);
	if (err == -ENOMEM)
		host_no_memory(vcpu->vm->name);
	return !err;
}
