/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking second-level mappings away from a running VM. A CPU caches
 * translations and may use them until it flushes them (SDM vol. 3, 29.4.3; APM
 * vol. 2, 15.16), so a page or table gets another use only after every CPU of
 * the VM has left the guest and flushed.
 *
 * The VM counts such changes; each vCPU flushes and notes the count before it
 * enters the guest. Whoever takes a mapping away counts, kicks and waits for
 * all notes.
 */
#ifndef VMM_SHOOTDOWN_H
#define VMM_SHOOTDOWN_H

#include "vmm/vcpu.h"
#include "vmm/vm.h"

/*
 * What vcpu->stage2_seen says of a vCPU that does not enter the guest: not started yet, or out of
 * its loop.
 */
#define STAGE2_ABSENT (~0ull)

/*
 * Before the vCPU's first entry and after its last, on its CPU. Outside of the two nobody waits for
 * it.
 */
void shootdown_join(struct vcpu *vcpu);
void shootdown_leave(struct vcpu *vcpu);

/* For shootdown_note(): flushes and notes the present count. */
void shootdown_flush(struct vcpu *vcpu);

/*
 * Notes the present count and flushes if it is new. On the vCPU's CPU, behind
 * host_cpu_kicked(), before each entry; the caller holds no pointer to guest
 * memory that it found before.
 */
static inline void shootdown_note(struct vcpu *vcpu)
{
	if (unlikely(vcpu->stage2_seen !=
		     __atomic_load_n(&vcpu->vm->stage2_count, __ATOMIC_SEQ_CST)))
		shootdown_flush(vcpu);
}

/*
 * For whoever waits for a vCPU that he has kicked at host_tsc() `since`: is there still something
 * to wait for? In images with LOST_CPUS not when its VM has ended, which one that has not answered
 * for VM_ANSWER_SECONDS does; else such a one ends the node.
 */
bool vcpu_may_answer(struct vcpu *vcpu, u64 since);

/*
 * The lock of the VM's second-level tables once its vCPUs run; to be held over
 * a device's own record of what it has mapped, too. `vcpu` is the caller's own,
 * in an exit or behind shootdown_leave(). While it waits in an exit it takes part
 * in others' changes: the caller holds no other lock and no pointer to guest memory.
 */
void vm_stage2_lock(struct vcpu *vcpu);
void vm_stage2_unlock(struct vm *vm);

/*
 * The one way into a VM's second-level tables: stage2_map(), or -EPERM for what the VM may not have
 * (host_may_map()), as its memory (MEMTYPE_WB) or as registers. For a VM that does not run yet.
 */
int vm_map_host(struct vm *vm, gpa_t gpa, hpa_t hpa, u64 size, unsigned prot, enum memtype type);

/*
 * vm_map_host() for a running VM, lock held. What was absent is not cached: no CPU
 * has to flush. Memory (MEMTYPE_WB) is the VM's PCI functions', too, where IOMMUs
 * contain these: then also as host_iommu_map(). On error the caller unmaps it.
 */
int vm_map(struct vm *vm, gpa_t gpa, hpa_t hpa, u64 size, unsigned prot, enum memtype type);

/*
 * stage2_unmap() for a running VM, lock held. When it returns no CPU uses what
 * was mapped there, neither in guest mode nor for it, nor do the VM's PCI
 * functions where IOMMUs contain them, unless the VM has ended meanwhile: then
 * nothing gets another use. 0; -EINVAL; -ENOMEM, with a part removed; -EIO: an
 * IOMMU does not answer, and memory gets no other use either.
 */
int vm_unmap(struct vcpu *vcpu, gpa_t gpa, u64 size);
/* The same for CPUs only: the VM's functions reach it as before. */
int vm_unmap_for_cpus(struct vcpu *vcpu, gpa_t gpa, u64 size);

/*
 * vm_domain.c: the part of the functions, of a VM with a domain. As host_iommu_map() and _unmap().
 */
#if IS_ENABLED(CONFIG_IOMMU)
int vm_domain_map(struct vm *vm, gpa_t gpa, hpa_t hpa, u64 size);
/* Of what the second-level tables still map there. */
int vm_domain_unmap(struct vm *vm, gpa_t gpa, u64 size);
#else
static inline int vm_domain_map(struct vm *, gpa_t, hpa_t, u64)
{
	return 0;
}

static inline int vm_domain_unmap(struct vm *, gpa_t, u64)
{
	return 0;
}
#endif

#endif
