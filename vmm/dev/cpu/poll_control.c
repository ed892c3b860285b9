/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM's MSR 0x4b564d05 (Linux, msr.rst: MSR_KVM_POLL_CONTROL), by which a guest that polls for a
 * while before it halts, as Linux does here, tells its host not to poll as well. This one never
 * does: each vCPU's bit is kept, and has no effect.
 */
#include <margay/errno.h>

#include "vmm/slots/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

static int poll_read(void *, struct vcpu *vcpu, u32, u64 *value)
{
	*value = !vcpu->poll_off;
	return 0;
}

static int poll_write(void *, struct vcpu *vcpu, u32, u64 value)
{
	if (value > 1)
		return -EFAULT;
	vcpu->poll_off = !value;
	return 0;
}

static const struct msr_ops poll_ops = { .read = poll_read, .write = poll_write };

static int poll_create(struct vm *vm, void **)
{
	return vm_register_msr(vm, MSR_KVM_POLL_CONTROL, MSR_KVM_POLL_CONTROL, &poll_ops, NULL);
}

static const struct vdev poll_vdev = { .create = poll_create };
VDEV(poll_vdev);
