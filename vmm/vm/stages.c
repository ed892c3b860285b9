/* SPDX-License-Identifier: GPL-2.0-only */
/* The stages of VMs and vCPUs, one after the other (stage.h). */
#include "vmm/stage.h"

#include "vmm/vm.h"

static VM_OWN unsigned nr_begun; /* stages of its life that it has come to */

extern const struct vm_stage *const __start_vm_stages[], *const __stop_vm_stages[];
extern const struct vcpu_stage *const __start_vcpu_stages[], *const __stop_vcpu_stages[];
extern void (*const __start_vm_pauses[])(struct vm *vm), (*const __stop_vm_pauses[])(struct vm *vm);

int stages_create(struct vm *vm)
{
	int err;

	while (vm_own(vm, nr_begun) < VM_STAGES) {
		unsigned at = vm_own(vm, nr_begun)++;

		for (const struct vm_stage *const *s = __start_vm_stages; s < __stop_vm_stages;
		     s++) {
			if ((*s)->at != at || !(*s)->create)
				continue;
			err = (*s)->create(vm);
			if (err)
				return err;
		}
	}
	return 0;
}

void stages_destroy(struct vm *vm)
{
	while (vm_own(vm, nr_begun)) {
		unsigned at = --vm_own(vm, nr_begun);

		for (const struct vm_stage *const *s = __start_vm_stages; s < __stop_vm_stages; s++)
			if ((*s)->at == at && (*s)->destroy)
				(*s)->destroy(vm);
	}
}

void stages_pause(struct vm *vm)
{
	for (void (*const *pause)(struct vm *vm) = __start_vm_pauses; pause < __stop_vm_pauses;
	     pause++)
		(*pause)(vm);
}

void stages_vcpu(struct vcpu *vcpu, enum vcpu_event event)
{
	for (unsigned at = 0; at < VCPU_STAGES; at++)
		for (const struct vcpu_stage *const *s = __start_vcpu_stages;
		     s < __stop_vcpu_stages; s++)
			if ((*s)->at == at && (*s)->on[event])
				(*s)->on[event](vcpu);
}
