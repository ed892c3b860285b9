/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VM's virtual devices have counted. Only in images with MANAGEMENT_VM. */
#include "vmm/vm/devices.h"

#include "vmm/vm.h"

extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

void vm_device_counts(const struct vm *vm, void (*say)(const char *text))
{
	const struct vdev *const *d = __start_vdevs;

	for (unsigned i = 0; i < vm->nr_devices && &d[i] < __stop_vdevs; i++)
		if (d[i]->calls && d[i]->calls->counts && vm->device[i])
			d[i]->calls->counts(vm, vm->device[i], say);
}

bool vm_net_counts(const struct vm *vm, unsigned number, struct net_counts *out)
{
	const struct vdev *const *d = __start_vdevs;

	for (unsigned i = 0; i < vm->nr_devices && &d[i] < __stop_vdevs; i++)
		if (d[i]->calls && d[i]->calls->net && vm->device[i])
			return d[i]->calls->net(vm->device[i], number, out);
	return false;
}
