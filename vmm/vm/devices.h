/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual devices of a VM, as the rest of the monitor has them: all that this image was linked
 * with (vdev.h).
 */
#ifndef VMM_DEVICES_H
#define VMM_DEVICES_H

#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

/* How many the image has: as many instances has each VM (vm->device). */
unsigned devices_count(void);

/* struct vdev's vcpu_pause(). */
void devices_vcpu_pause(struct vcpu *vcpu, bool paused);

/* The same of press(): -ENOSYS where no device has that button. */
int vm_press(struct vm *vm, enum vm_button button);
#if IS_ENABLED(CONFIG_VM_COUNTERS)
/* Has it performance counters? Once its devices are made. */
static inline bool vm_has_counters(struct vm *vm)
{
	return msr_find(vm, MSR_PERF_SELECT0) || msr_find(vm, MSR_AMD_CORE_SELECT0);
}
#else
static inline bool vm_has_counters(struct vm *)
{
	return false;
}
#endif

/* The same of machine_check(): false where nobody can tell the guest. */
bool vcpu_machine_check(struct vcpu *vcpu, u64 page);
/* The same of counts(), of a VM that stays meanwhile: device_counts.c. */
void vm_device_counts(const struct vm *vm, void (*say)(const char *text));
/* And of net(). */
bool vm_net_counts(const struct vm *vm, unsigned number, struct net_counts *out);

#endif
