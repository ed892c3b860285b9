/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a VM's that the machine has lost, from the moment on that this is known: it leaves the
 * second-level tables, so that a use of it is an exit in place of one more machine check; and what
 * follows a use. Its PCI functions reach it as before: what they write makes it sound again.
 */
#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/memory/shootdown.h"
#include "vmm/slots/slot.h"
#include "vmm/slots/node_events.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm/devices.h"
#include "vmm/vm/service.h"
#include "vmm/vm_parts.h"

/* machine checks within that time may be one error's: each waits for the log */
#define SAME_MS 1000

/*
 * How many lost pages (host_memory_lost()) are out of stage2, if they were in it; guarded by
 * vm_stage2_lock().
 */
static VM_OWN u32 lost_seen;
static VM_OWN u64 lost_told; /* those that the guest has been told of, bits by number; atomic */

static void drop(struct vcpu *vcpu, u64 page)
{
	struct vm *vm = vcpu->vm;
	u64 at;

	if (!gpa_map_of_host(&vm_parts(vm)->map, page, &at))
		return;
	/*
	 * Without a table for the rest of a large page it stays there: a use is a machine check, as
	 * the first one.
	 */
	if (vm_unmap_for_cpus(vcpu, gpa(at), PAGE_SIZE))
		host_no_memory(vm->name);
	else
		vm_tell(vm, "memory at GPA %#lx is lost: the guest has it no longer", at);
	event_often(vm->id, "memory-lost", "GPA %#lx", at);
}

/* Takes what the machine has lost since out of the second-level tables. */
static bool lost_look(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	u64 page;

	if (!__atomic_exchange_n(&vcpu->lost_pages, false, __ATOMIC_ACQ_REL))
		return false;
	vm_stage2_lock(vcpu);
	for (; host_memory_lost(vm_own(vm, lost_seen), &page); vm_own(vm, lost_seen)++)
		drop(vcpu, page);
	vm_stage2_unlock(vm);
	return false;
}

/* What was lost before the VM began to run nobody has told it of. */
static void lost_start(struct vcpu *vcpu)
{
	vcpu->lost_pages = true;
}

static const struct vcpu_stage lost_stage = { .at = VCPU_LOST,
					      .on = { [VCPU_STARTS] = lost_start } };
VCPU_STAGE(lost_stage);
static const struct vcpu_look pages_look = { .at = LOOK_LOST, .look = lost_look };
VCPU_LOOK(pages_look);

/*
 * One vCPU of each VM looks, in the guest or not; those that have not begun do so before they enter
 * it.
 */
static void tell_vms(void)
{
	spin_lock(&monitor_lock);
	for (struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++) {
		if (!s->vm)
			continue;
		__atomic_store_n(&s->vm->vcpus[0]->lost_pages, true, __ATOMIC_RELEASE);
		vcpu_kick(s->vm->vcpus[0]);
	}
	spin_unlock(&monitor_lock);
}

static void listen(void)
{
	host_on_memory_lost(tell_vms);
}

MONITOR_SERVICE(listen);

/*
 * Is that CPU in the VM's guest, or has its own machine check, by the same error, brought it out of
 * that?
 */
static bool is_guests(const struct vm *vm, unsigned cpu)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		const struct vcpu *v = vm->vcpus[i];
		u64 used = __atomic_load_n(&v->lost_used, __ATOMIC_ACQUIRE);

		if (v->cpu == cpu)
			return __atomic_load_n(&v->in_guest, __ATOMIC_ACQUIRE) ||
			       (used && host_tsc() - used < host_tsc_khz() * SAME_MS);
	}
	return false;
}

bool vcpu_core_is_vms(struct host_work *work)
{
	const struct vcpu *vcpu = container_of(work, struct vcpu, work);
	unsigned shift = cpuid_smt_shift(host_cpuid_for, NULL);
	u32 core = host_cpu_info(vcpu->cpu)->apic_id >> shift;
	const struct host_cpu_info *info;

	/* One that does not run, or is given up, is nobody's. */
	for (unsigned i = 0; (info = host_cpu_info(i)); i++)
		if (info->apic_id >> shift == core && !(info->online && is_guests(vcpu->vm, i)))
			return false;
	return true;
}

bool vm_tells_lost(struct vm *vm, u64 page)
{
	u64 lost;

	for (unsigned i = 0; host_memory_lost(i, &lost); i++)
		if (lost == page)
			return !(__atomic_fetch_or(&vm_own(vm, lost_told), BIT(i),
						   __ATOMIC_ACQ_REL) &
				 BIT(i));
	return false;
}

void vcpu_lost_memory(struct vcpu *vcpu, u64 page)
{
	if (vcpu_machine_check(vcpu, page))
		return;
	vm_tell(vcpu->vm,
		"vcpu%u: has used memory that the machine has lost: the machine checks before",
		vcpu->id);
	/* Nothing of it is shown: that might be the same memory. */
	vm_end(vcpu->vm, VM_END_MACHINE_CHECK);
}

bool vcpu_fault_is_lost(struct vcpu *vcpu, enum host_fault why, u64 lost)
{
	if (why != HOST_MACHINE_CHECK)
		return false;
	__atomic_store_n(&vcpu->lost_used, host_tsc(), __ATOMIC_RELEASE);
	/* It leaves the tables before the next entry. */
	vcpu->lost_pages = true;
	vcpu_look(vcpu);
	vcpu_lost_memory(vcpu, lost);
	return true;
}

void vcpu_lost_access(struct vcpu *vcpu, gpa_t addr)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vcpu->vm)->map, addr.v);

	/* A fault: the instruction has not been carried out, and can be begun again. */
	vcpu_lost_memory(vcpu, ALIGN_DOWN(r->hpa + (addr.v - r->gpa), PAGE_SIZE) | MCG_STATUS_RIPV |
				       MCG_STATUS_EIPV);
}
