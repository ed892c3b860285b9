/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM's MSR 0x4b564d05 (Linux, msr.rst: MSR_KVM_POLL_CONTROL), by which a guest that polls for a while before it halts, as Linux
 * does here, tells its host not to poll as well. This one never does: each vCPU's bit is kept, and has no effect.
 */
#include <margay/errno.h>

#include "vmm/ranges.h"
#include "vmm/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vdev.h"
#include "vmm/vm.h"

static u64 off[MONITOR_MAX_VMS]; /* by VM: bit of each vCPU; atomic */
static_assert(VM_MAX_VCPUS <= 64, "one word");

static int poll_read(void *, struct vcpu *vcpu, u32, u64 *value)
{
	*value = !(__atomic_load_n(&off[vcpu->vm->id], __ATOMIC_RELAXED) & BIT(vcpu->id));
	return 0;
}

static int poll_write(void *, struct vcpu *vcpu, u32, u64 value)
{
	if (value > 1)
		return -EFAULT;
	if (value)
		__atomic_fetch_and(&off[vcpu->vm->id], ~BIT(vcpu->id), __ATOMIC_RELAXED);
	else
		__atomic_fetch_or(&off[vcpu->vm->id], BIT(vcpu->id), __ATOMIC_RELAXED);
	return 0;
}

static const struct msr_ops poll_ops = { .read = poll_read, .write = poll_write };

static int poll_create(struct vm *vm, void **)
{
	off[vm->id] = 0;
	return vm_register_msr(vm, MSR_KVM_POLL_CONTROL, MSR_KVM_POLL_CONTROL, &poll_ops, NULL);
}

static const struct vdev poll_vdev = { .name = "poll-control", .create = poll_create };
VDEV(poll_vdev);
