/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that do not answer a kick: their VM ends without them, or the node does. */
#ifndef VMM_LOST_CPUS_H
#define VMM_LOST_CPUS_H

#include "vmm/monitor.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#if IS_ENABLED(CONFIG_LOST_CPUS)
/*
 * lost_cpus.c. The last that a vCPU does of its VM, on its CPU: the first one waits for the others,
 * and gives up those who do not come.
 */
void vcpu_leave(struct vcpu *vcpu);

/* Does the first of so many vCPUs that have their CPUs wait for the VM's end, too? */
static inline bool vm_is_waited_for(unsigned vcpus)
{
	return vcpus;
}

/* Need nobody wait for its vCPUs? */
static inline bool vm_is_left(const struct vm *vm)
{
	return __atomic_load_n(&vm->end, __ATOMIC_ACQUIRE) != VM_RUNNING;
}

/* It has not answered. */
static inline void vcpu_is_lost(const struct vcpu *vcpu)
{
	vm_tell(vcpu->vm, "vcpu%u on CPU %u did not answer a kick for %u s", vcpu->id, vcpu->cpu,
		VM_ANSWER_SECONDS);
	vm_end(vcpu->vm, VM_END_CRASH);
}
#else
/* The last one has the VM taken down. */
static inline void vcpu_leave(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;

	if (__atomic_sub_fetch(&vm->live_vcpus, 1, __ATOMIC_ACQ_REL) == 0)
		monitor_vm_ended(vm);
}

static inline bool vm_is_waited_for(unsigned)
{
	return false;
}

static inline bool vm_is_left(const struct vm *)
{
	return false;
}

static inline void vcpu_is_lost(const struct vcpu *vcpu)
{
	host_panic("%s: vcpu%u on CPU %u did not answer a kick for %u s", vcpu->vm->name, vcpu->id,
		   vcpu->cpu, VM_ANSWER_SECONDS);
}
#endif

#endif
