/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM that ends though one of its CPUs does not answer a kick: that CPU, and all that it may still
 * write to, stay out of use.
 */
#include "vmm/vm/lost_cpus.h"

#include "vmm/hvm.h"
#include "vmm/slots/node_events.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"

static void give_up(struct vcpu *vcpu)
{
	vm_tell(vcpu->vm,
		"vcpu%u: CPU %u does not answer: it and what the VM had are not used until the node restarts",
		vcpu->id, vcpu->cpu);
	host_cpu_lost(vcpu->cpu);
	event_vm(vcpu->vm->id, "cpu-lost", "CPU %u, of vcpu%u", vcpu->cpu, vcpu->id);
}

/*
 * Until all vCPUs have left, which the VM's end has kicked, or no more will; and then has it taken
 * down.
 */
static void wait_for_all(struct vm *vm)
{
	u64 since = host_tsc(), patience = host_tsc_khz() * 1000 * VM_ANSWER_SECONDS;
	unsigned before = 0, live;

	while ((live = __atomic_load_n(&vm->live_vcpus, __ATOMIC_ACQUIRE)) && !vm->abandoned) {
		/*
		 * Each says its last words, on a slow line; and the CPUs of a VM that has just
		 * started may be taken by others.
		 */
		if (live != before || live >= VM_VCPU_BEHIND)
			since = host_tsc();
		before = live;
		if (host_tsc() - since > patience)
			__atomic_store_n(&vm->abandoned, true, __ATOMIC_RELEASE);
		host_interrupt_window();
	}
	for (unsigned i = 0; vm->abandoned && i < vm->nr_vcpus; i++)
		if (__atomic_load_n(&vm->vcpus[i]->live, __ATOMIC_ACQUIRE))
			give_up(vm->vcpus[i]);
	monitor_vm_ended(vm);
}

static bool claim(struct vm *vm)
{
	return !__atomic_exchange_n(&vm->leaving, true, __ATOMIC_SEQ_CST);
}

void vcpu_leave(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	bool first = claim(vm);

	if (!host_cpu_info(vcpu->cpu)->online)
		vm_tell(vm, "vcpu%u: CPU %u answers, too late", vcpu->id, vcpu->cpu);
	__atomic_store_n(&vcpu->live, false, __ATOMIC_RELEASE);
	/* From here on the VM is no more, but for the first one. */
	__atomic_sub_fetch(&vm->live_vcpus, 1, __ATOMIC_ACQ_REL);
	if (first)
		wait_for_all(vm);
}

/* None of its vCPUs has left, to wait for the others: this CPU, which is nobody's, does. */
static void stand_in(struct host_work *work)
{
	struct slot *s = container_of(work, struct slot, starter);
	struct vm *vm;

	spin_lock(&monitor_lock);
	vm = s->vm && s->vm->end != VM_RUNNING && claim(s->vm) ? s->vm : NULL;
	spin_unlock(&monitor_lock);
	if (vm)
		wait_for_all(vm);
}

void vm_stop_again(struct slot *s, bool (*hand_out)(struct host_work *work))
{
	if (!s->vm || s->vm->leaving)
		return;
	s->starter = (struct host_work){ .name = "stop", .run = stand_in };
	hand_out(&s->starter);
}

/* Nobody shall lead the line to it. */
static void abandon_console(struct vm *vm)
{
	if (vm->console)
		host_console_remove(vm->console);
}
VM_ABANDON(ABANDON_CONSOLE, abandon_console);
