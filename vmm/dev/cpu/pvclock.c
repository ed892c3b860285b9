/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The paravirtual clock's two MSRs, 0x4b564d01 (system time, per vCPU) and
 * 0x4b564d00 (wall clock), as KVM documents them (Linux, msr.rst).
 *
 * A guest's TSC is the host's plus a constant and its vCPUs stay on their
 * CPUs, so what is written once stays true: system time is 0 where the
 * guest's TSC is 0, on every vCPU alike. With TSCs that differ between CPUs
 * each vCPU gets a reading of the one wall clock against its own TSC instead.
 */
#include <margay/errno.h>
#include <margay/mc_access.h>

#include "vmm/dev/cpu/pvclock_scale.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

struct pvclock {
	u64 wall_at_start; /* host wall clock, ns, when system time was 0 */
	u64 wall_msr;
	u32 mul;
	s8 shift;
};

static u64 guest_ns(const struct pvclock *p, const struct vm *vm, u64 host_tsc_value)
{
	return pvclock_ns(vm_guest_tsc(vm, host_tsc_value), p->mul, p->shift);
}

/* The version protocol: odd, the fields, even. */
static int publish(struct vcpu *vcpu, u64 addr, const struct pvclock_time *new)
{
	const u32 fields = offsetof(struct pvclock_time, pad0);
	struct pvclock_time *t = guest_ptr(vcpu->vm, gpa(addr), sizeof(*t));

	if (!t)
		return -EFAULT;
	if (!mc_store32(&t->version, ++vcpu->kvm_time_version) ||
	    !mc_copy(&t->pad0, (const u8 *)new + fields, sizeof(*t) - fields) ||
	    !mc_store32(&t->version, ++vcpu->kvm_time_version))
		return guest_lost(vcpu->vm);
	return 0;
}

static int write_time(struct pvclock *p, struct vcpu *vcpu, u64 addr)
{
	bool stable = host_tsc_stable();
	struct pvclock_time t = { .mul = p->mul,
				  .shift = p->shift,
				  .flags = stable ? PVCLOCK_TSC_STABLE : 0 };
	u64 now;

	if (!stable) {
		t.system_time = host_wall_clock(&now) - p->wall_at_start;
		t.tsc_timestamp = vm_guest_tsc(vcpu->vm, now);
	}
	return publish(vcpu, addr, &t);
}

static int write_wall(struct pvclock *p, struct vm *vm, u64 addr)
{
	struct pvclock_wall w = {
		.version = 2,
		.sec = (u32)(p->wall_at_start / 1000000000),
		.nsec = (u32)(p->wall_at_start % 1000000000),
	};

	return guest_write(vm, gpa(addr), &w, sizeof(w));
}

static int msr_read(void *dev, struct vcpu *vcpu, u32 msr, u64 *value)
{
	struct pvclock *p = dev;

	*value = msr == MSR_KVM_SYSTEM_TIME ? vcpu->kvm_system_time : p->wall_msr;
	return 0;
}

/* Bits 1:0 of both addresses must be 0, but for the enable bit; the structures must lie in RAM. */
static int msr_write(void *dev, struct vcpu *vcpu, u32 msr, u64 value)
{
	struct pvclock *p = dev;
	int err = 0;

	if (msr == MSR_KVM_WALL_CLOCK) {
		/* 0 is no address, as in KVM: a guest may write back what it has read. */
		if (value)
			err = value & 3 ? -EFAULT : write_wall(p, vcpu->vm, value);
		if (!err)
			p->wall_msr = value;
		return err;
	}
	if (value & 2)
		return -EFAULT;
	if (value & PVCLOCK_ENABLE)
		err = write_time(p, vcpu, value & ~PVCLOCK_ENABLE);
	if (!err)
		vcpu->kvm_system_time = value;
	return err;
}

static const struct msr_ops pvclock_msr_ops = { .read = msr_read, .write = msr_write };

static_assert(sizeof(struct pvclock) <= PAGE_SIZE, "one page");
static_assert(MSR_KVM_SYSTEM_TIME == MSR_KVM_WALL_CLOCK + 1, "one range");

static int pvclock_create(struct vm *vm, void **instance)
{
	struct pvclock *p;

	if (vm_config_tsc_only(vm->config))
		return 0;
	p = *instance = host_pages_alloc(1, -1);
	if (!p)
		return host_no_memory(vm->name);
	pvclock_scale(host_tsc_khz(), &p->mul, &p->shift);
	return vm_register_msr(vm, MSR_KVM_WALL_CLOCK, MSR_KVM_SYSTEM_TIME, &pvclock_msr_ops, p);
}

/* The guest's TSC starts with the VM: only now is its zero known. */
static void pvclock_vcpu_start(struct vcpu *vcpu, void *instance)
{
	struct pvclock *p = instance;
	u64 tsc, wall;

	if ((IS_ENABLED(CONFIG_VM_TSC_ONLY) && !p) || vcpu->id != 0)
		return;
	wall = host_wall_clock(&tsc);
	p->wall_at_start = wall - guest_ns(p, vcpu->vm, tsc);
}

/* The time goes on as published; only the flag is new. */
static void pvclock_vcpu_pause(struct vcpu *vcpu, void *, bool paused)
{
	u64 addr = vcpu->kvm_system_time & ~PVCLOCK_ENABLE;
	struct pvclock_time t;

	if (paused || !(vcpu->kvm_system_time & PVCLOCK_ENABLE) ||
	    guest_read(vcpu->vm, gpa(addr), &t, sizeof(t)))
		return;
	t.flags |= PVCLOCK_GUEST_STOPPED;
	(void)publish(vcpu, addr, &t);
}

static const struct vdev pvclock_vdev = {
	.create = pvclock_create,
	.vcpu_start = pvclock_vcpu_start,
	.vcpu_pause = VDEV_PAUSE(pvclock_vcpu_pause),
};
VDEV(pvclock_vdev);
