/* SPDX-License-Identifier: GPL-2.0-only */
/* See devices.h. */
#include "vmm/vm/devices.h"

#include <margay/errno.h>

#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

unsigned devices_count(void)
{
	return (unsigned)(__stop_vdevs - __start_vdevs);
}

/* In the order of the image. */
static int devices_vm_create(struct vm *vm)
{
	const struct vdev *const *d = __start_vdevs;

	for (unsigned i = 0; &d[i] < __stop_vdevs; i++) {
		int err;

		vm->nr_devices = i + 1;
		err = d[i]->create ? d[i]->create(vm, &vm->device[i]) : 0;
		if (err)
			return err;
	}
	return 0;
}

static void devices_vm_destroy(struct vm *vm)
{
	const struct vdev *const *d = __start_vdevs;

	while (vm->nr_devices) {
		void *instance = vm->device[--vm->nr_devices];

		if (d[vm->nr_devices]->destroy)
			d[vm->nr_devices]->destroy(vm, instance);
		else
			host_pages_free(instance, 1);
	}
}

static const struct vm_stage devices_stage = { .at = STAGE_DEVICES,
					       .create = devices_vm_create,
					       .destroy = devices_vm_destroy };
VM_STAGE(devices_stage);

static void tell_vcpu(struct vcpu *vcpu, bool starts)
{
	const struct vdev *const *d = __start_vdevs;

	for (unsigned i = 0; &d[i] < __stop_vdevs; i++) {
		void (*fn)(struct vcpu *vcpu, void *instance) =
			starts ? d[i]->vcpu_start : d[i]->vcpu_stop;

		if (fn)
			fn(vcpu, vcpu->vm->device[i]);
	}
}

static void devices_vcpu_start(struct vcpu *vcpu)
{
	tell_vcpu(vcpu, true);
}

static void devices_vcpu_stop(struct vcpu *vcpu)
{
	tell_vcpu(vcpu, false);
}

static const struct vcpu_stage devices_vcpu_stage = {
	.at = VCPU_DEVICES,
	.on = { [VCPU_STARTS] = devices_vcpu_start, [VCPU_STOPS] = devices_vcpu_stop },
};
VCPU_STAGE(devices_vcpu_stage);

void devices_vcpu_pause(struct vcpu *vcpu, bool paused)
{
	const struct vdev *const *d = __start_vdevs;

	for (unsigned i = 0; &d[i] < __stop_vdevs; i++)
		if (d[i]->vcpu_pause)
			d[i]->vcpu_pause(vcpu, vcpu->vm->device[i], paused);
}

int vm_press(struct vm *vm, enum vm_button button)
{
	const struct vdev *const *d = __start_vdevs;
	int result = -ENOSYS;

	for (unsigned i = 0; &d[i] < __stop_vdevs; i++) {
		const struct vdev_calls *calls = d[i]->calls;
		int err = calls && calls->press ? calls->press(vm, vm->device[i], button) : -ENOSYS;

		if (err != -ENOSYS)
			result = err;
	}
	return result;
}

bool vcpu_machine_check(struct vcpu *vcpu, u64 page)
{
	for (const struct vdev *const *d = __start_vdevs; d < __stop_vdevs; d++)
		if ((*d)->calls && (*d)->calls->machine_check &&
		    (*d)->calls->machine_check(vcpu, page))
			return true;
	return false;
}
