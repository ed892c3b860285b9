/* SPDX-License-Identifier: GPL-2.0-only */
/* Pausing a VM. */
#ifndef VMM_PAUSE_H
#define VMM_PAUSE_H

#include "vmm/vcpu.h"
#include "vmm/vm.h"

/*
 * Pauses the VM: every vCPU leaves the guest soon and stays out of it, asleep
 * on its CPU, until vm_resume() or the VM's end. Interrupts stay pending; its
 * clocks go on, or with `clock = freeze` stand still. From any CPU and any
 * handler; the caller sees to it that the VM stays. 0; -EALREADY when it is
 * in that state; -EPERM when a crash keeps it paused (on_crash = dump).
 */
int vm_pause(struct vm *vm);
int vm_resume(struct vm *vm);

/* Stays out of the guest until the VM is no longer paused. On the vCPU's CPU, in its loop. */
void vcpu_stay_paused(struct vcpu *vcpu);

static inline bool vm_paused(const struct vm *vm)
{
	/* One that a crash keeps is paused whoever resumes it. */
	return IS_ENABLED(CONFIG_VM_PAUSE) &&
	       (__atomic_load_n(&vm->paused, __ATOMIC_ACQUIRE) ||
		(IS_ENABLED(CONFIG_MANAGEMENT_VM) && __atomic_load_n(&vm->kept, __ATOMIC_ACQUIRE)));
}

/*
 * Does its memory stand still? Every vCPU is out of the guest, and nobody writes for a device of
 * its (of the machine's own PCI functions it knows nothing), until vm_resume() or its end. From any
 * CPU.
 */
static inline bool vm_stands_still(struct vm *vm)
{
	bool still;

	/*
	 * A pause that is being told is none yet: pause.c has the lock until nobody writes any
	 * more.
	 */
	spin_lock(&vm->pause_lock);
	still = vm_paused(vm) && vm->nr_paused == vm->nr_vcpus;
	spin_unlock(&vm->pause_lock);
	return still;
}

/* Does it stay out of the guest, with its VM or for the debugger? */
static inline bool vcpu_paused(const struct vcpu *vcpu)
{
	return vm_paused(vcpu->vm) ||
	       (IS_ENABLED(CONFIG_GDB) && __atomic_load_n(&vcpu->debug.hold, __ATOMIC_ACQUIRE));
}

#endif
