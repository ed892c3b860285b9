/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The port by which a guest's kernel says that it has panicked, as QEMU defined it
 * (docs/specs/pvpanic) and Linux' pvpanic-mmio drives it: what is read are the events that are
 * known here, what is written is the one that has happened.
 */
#include "vmm/guest_platform.h"
#include "vmm/slots/slot_own.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define EVENT_PANICKED BIT(0)
#define EVENT_CRASH_KERNEL BIT(1) /* it has panicked, and starts its crash kernel (kdump) */

/* A guest may write as often as it likes, the log has one line. Atomic. */
SLOT_OWN(bool, panic_told);

static u32 pvpanic_read(void *, struct vcpu *, u16, unsigned)
{
	return EVENT_PANICKED | EVENT_CRASH_KERNEL;
}

static void pvpanic_write(void *, struct vcpu *vcpu, u16, unsigned, u32 value)
{
	struct vm *vm = vcpu->vm;

	if (value & EVENT_PANICKED)
		vm_end(vm, VM_END_PANICKED);
	else if (value & EVENT_CRASH_KERNEL &&
		 !__atomic_exchange_n(&panic_told[vm->id], true, __ATOMIC_RELAXED))
		vm_log(vm, "its kernel has panicked, and starts its crash kernel");
}

static const struct pio_ops pvpanic_ops = { .sizes = 1,
					    .read = pvpanic_read,
					    .write = pvpanic_write };

static int pvpanic_create(struct vm *vm, void **)
{
	panic_told[vm->id] = false;
	return vm_register_pio(vm, GUEST_PVPANIC_PORT, 1, &pvpanic_ops, NULL);
}

static const struct vdev pvpanic_vdev = { .create = pvpanic_create };
VDEV(pvpanic_vdev);
