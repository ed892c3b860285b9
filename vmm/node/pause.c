/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pausing and resuming a VM, and what its clocks do meanwhile: by default they
 * go on; with `clock = freeze` the guest's TSC stands still from the moment
 * the last vCPU has stopped until the VM is resumed.
 */
#include "vmm/node/pause.h"

#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/stage.h"
#include "vmm/vm/devices.h"

/* Host TSC when the last of nr_paused stopped; guarded by vm->pause_lock. */
static VM_OWN u64 frozen_at;

static int set_paused(struct vm *vm, bool paused)
{
	spin_lock(&vm->pause_lock);
	if (vm->paused == paused || vm->kept) {
		spin_unlock(&vm->pause_lock);
		return vm->kept ? -EPERM : -EALREADY;
	}
	/* A pause that is over before the last vCPU has stopped was too short to be one. */
	if (!paused && vm->nr_paused == vm->nr_vcpus && vm->config->clock == VM_CLOCK_FREEZE) {
		u64 now = host_tsc();

		vm->tsc_offset -= (s64)(now - vm_own(vm, frozen_at));
		/* for a next pause that comes before any vCPU has left this one */
		vm_own(vm, frozen_at) = now;
	}
	__atomic_store_n(&vm->paused, paused, __ATOMIC_RELEASE);
	/*
	 * vCPUs that have not left the pause before do not settle by themselves. Nobody has a
	 * device's lock and comes here.
	 */
	if (paused)
		stages_pause(vm);
	spin_unlock(&vm->pause_lock);
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		vcpu_kick(vm->vcpus[i]);
	return 0;
}

int vm_pause(struct vm *vm)
{
	return set_paused(vm, true);
}

int vm_resume(struct vm *vm)
{
	return set_paused(vm, false);
}

void vcpu_stay_paused(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;

	devices_vcpu_pause(vcpu, true);
	stages_pause(vm);
	spin_lock(&vm->pause_lock);
	vm->nr_paused++;
	/* the last one's stays: it is not before any TSC that the guest has seen */
	vm_own(vm, frozen_at) = host_tsc();
	spin_unlock(&vm->pause_lock);
	shootdown_leave(vcpu);
	while (vcpu_paused(vcpu) && __atomic_load_n(&vm->end, __ATOMIC_ACQUIRE) == VM_RUNNING) {
		if (!vcpu_looks(vcpu, true))
			host_cpu_wait();
		vcpu_serve_call(vcpu);
	}
	shootdown_join(vcpu);
	spin_lock(&vm->pause_lock);
	vm->nr_paused--;
	spin_unlock(&vm->pause_lock);
	devices_vcpu_pause(vcpu, false);
	if (vcpu->tsc_offset != vm->tsc_offset) {
		vcpu->tsc_offset = vm->tsc_offset;
		hvm->set_tsc_offset(vcpu, vcpu->tsc_offset);
	}
}
