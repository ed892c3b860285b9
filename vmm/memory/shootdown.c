/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Second-level mappings taken away from a running VM: every CPU flushes before anything is reused
 * (see shootdown.h).
 */
#include "vmm/memory/shootdown.h"

#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/vm/lost_cpus.h"
#include "vmm/vm_parts.h"

/* Guards stage2, and the domain, once vCPUs run. */
static VM_OWN struct spinlock stage2_lock;

void shootdown_join(struct vcpu *vcpu)
{
	/*
	 * Ordered before the count is read: whoever counted and still found it absent is seen by
	 * the first note.
	 */
	__atomic_store_n(&vcpu->stage2_seen, 0, __ATOMIC_SEQ_CST);
}

void shootdown_leave(struct vcpu *vcpu)
{
	__atomic_store_n(&vcpu->stage2_seen, STAGE2_ABSENT, __ATOMIC_RELEASE);
}

void shootdown_flush(struct vcpu *vcpu)
{
	u64 count = __atomic_load_n(&vcpu->vm->stage2_count, __ATOMIC_SEQ_CST);

	hvm->flush_stage2(vcpu);
	__atomic_store_n(&vcpu->stage2_seen, count, __ATOMIC_RELEASE);
}

void vm_stage2_lock(struct vcpu *vcpu)
{
	/*
	 * Its holder may wait for this vCPU, unless that has left: a note would say for ever that
	 * it is there.
	 */
	while (!spin_trylock(&vm_own(vcpu->vm, stage2_lock))) {
		if (vcpu->stage2_seen != STAGE2_ABSENT)
			shootdown_note(vcpu);
		__builtin_ia32_pause();
	}
}

void vm_stage2_unlock(struct vm *vm)
{
	spin_unlock(&vm_own(vm, stage2_lock));
}

int vm_map_host(struct vm *vm, gpa_t gpa, hpa_t hpa, u64 size, unsigned prot, enum memtype type)
{
	/* Images without PCI functions for VMs map nothing but what they have taken for them. */
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && !host_may_map(hpa, size, type == MEMTYPE_WB))
		return -EPERM;
	return stage2_map(&vm_parts(vm)->stage2, gpa.v, hpa.v, size, prot, type);
}

int vm_map(struct vm *vm, gpa_t gpa, hpa_t hpa, u64 size, unsigned prot, enum memtype type)
{
	int err = vm_map_host(vm, gpa, hpa, size, prot, type);

	if (!err && type == MEMTYPE_WB && vm_parts(vm)->domain)
		err = vm_domain_map(vm, gpa, hpa, size);
	return err;
}

bool vcpu_may_answer(struct vcpu *vcpu, u64 since)
{
	if (vm_is_left(vcpu->vm))
		return false;
	if (host_tsc() - since <= host_tsc_khz() * 1000 * VM_ANSWER_SECONDS)
		return true;
	vcpu_is_lost(vcpu);
	return false;
}

/* False: its VM has ended before it answered. */
static bool wait_for(struct vcpu *vcpu, u64 count)
{
	u64 start = host_tsc();

	/* STAGE2_ABSENT is above any count. */
	while (__atomic_load_n(&vcpu->stage2_seen, __ATOMIC_SEQ_CST) < count) {
		if (!vcpu_may_answer(vcpu, start))
			return false;
		__builtin_ia32_pause();
	}
	return true;
}

int vm_unmap_for_cpus(struct vcpu *vcpu, gpa_t gpa, u64 size)
{
	struct vm *vm = vcpu->vm;
	int err = stage2_unmap(&vm_parts(vm)->stage2, gpa.v, size);
	u64 count = __atomic_add_fetch(&vm->stage2_count, 1, __ATOMIC_SEQ_CST);

	/* All are under way before the first is waited for. */
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		if (__atomic_load_n(&vm->vcpus[i]->stage2_seen, __ATOMIC_SEQ_CST) != STAGE2_ABSENT)
			vcpu_kick(vm->vcpus[i]);
	/* One that is absent and serves a call stays so: nobody waits for it. */
	if (vcpu->stage2_seen != STAGE2_ABSENT)
		shootdown_note(vcpu);
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		if (!wait_for(vm->vcpus[i], count))
			return err;
	stage2_reap(&vm_parts(vm)->stage2);
	return err;
}

int vm_unmap(struct vcpu *vcpu, gpa_t gpa, u64 size)
{
	bool contained = vm_parts(vcpu->vm)->domain;
	int blocked = contained ? vm_domain_unmap(vcpu->vm, gpa, size) : 0;
	int err = vm_unmap_for_cpus(vcpu, gpa, size);

	return blocked ? blocked : err;
}
