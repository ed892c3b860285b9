/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU as the work item of a CPU: prepared on the CPU that runs it, entered
 * until its VM ends, then taken down there. While the guest computes this
 * loop does nothing.
 */
#include <margay/errno.h>

#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/vm/lost_cpus.h"
#include "vmm/memory/shootdown.h"
#include "vmm/node/pause.h"
#include "vmm/stage.h"
#include "vmm/vm/debugger.h"
#include "vmm/vm/power_on.h"
#include "vmm/vm/startup.h"
#include "vmm/vm_parts.h"

static_assert(sizeof(struct vcpu) <= PAGE_SIZE, "a vCPU takes one page");

/* Every vCPU has its CPU: they may enter the guest. Atomic. */
static VM_OWN bool started;

static struct vcpu *vcpu_create(struct vm *vm, unsigned id)
{
	const struct host_cpu_info *info = host_cpu_info(vm->host_cpu[id]);
	struct vcpu *vcpu = host_pages_alloc(1, info->node);

	if (!vcpu)
		return NULL;
	vcpu->vm = vm;
	vcpu->id = id;
	vcpu->cpu = vm->host_cpu[id];
	vcpu->apic_id = vm->config->flat ? id : info->apic_id;
	vcpu->stage2_seen = STAGE2_ABSENT;
	vcpu_calls(vcpu, false);
	vcpu->startup = id ? STARTUP_WAIT : STARTUP_RUN;
	return vcpu;
}

/* One vCPU for each CPU that the VM has (vm->host_cpu), on its node. */
static int vcpus_vm_create(struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_host_cpus; i++) {
		struct vcpu *vcpu = vcpu_create(vm, i);

		if (!vcpu)
			return host_no_memory(vm->name);
		vm->wide_ids = vm->wide_ids || vcpu->apic_id >= 0xff;
		vm->vcpus[vm->nr_vcpus++] = vcpu;
	}
	return 0;
}

static void vcpus_vm_destroy(struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		host_pages_free(vm->vcpus[i], 1);
}

static const struct vm_stage vcpus_stage = { .at = STAGE_VCPUS,
					     .create = vcpus_vm_create,
					     .destroy = vcpus_vm_destroy };
VM_STAGE(vcpus_stage);

static bool running(const struct vm *vm)
{
	return __atomic_load_n(&vm->end, __ATOMIC_ACQUIRE) == VM_RUNNING;
}

/*
 * Has one of its vCPUs not begun? The guest would miss it; where it has its CPUs' local APICs, one
 * is still the LWK's.
 */
static bool preparing(const struct vm *vm)
{
	return running(vm) && __atomic_load_n(&vm->ready, __ATOMIC_ACQUIRE) < vm->nr_vcpus;
}

/*
 * All that may keep the vCPU from the guest, and the events that it takes along. False: its VM has
 * ended. What parts of the monitor add is a VCPU_LOOK(). The rest is the vCPU's own state, in lines
 * that cost a load and a branch at each interrupt, where a table would cost a call.
 */
static noinline bool look(struct vcpu *vcpu)
{
	for (;;) {
		/*
		 * Before anything is looked at that others may have stored: an exchange is a full
		 * barrier.
		 */
		if (unlikely(__atomic_load_n(vcpu->kick, __ATOMIC_RELAXED)) && host_cpu_kicked())
			/* the kernel kicks itself when an NMI was more than a kick */
			host_interrupt_window();
		(void)__atomic_exchange_n(&vcpu->look, false, __ATOMIC_SEQ_CST);
		if (!running(vcpu->vm))
			return false;
		shootdown_note(vcpu);
		if (unlikely(vcpu_is_called(vcpu)))
			vcpu_serve_call(vcpu);
		if (unlikely(vcpu_paused(vcpu))) {
			vcpu_stay_paused(vcpu);
			continue;
		}
		if (unlikely(__atomic_load_n(&vcpu->reasons, __ATOMIC_RELAXED)) &&
		    vcpu_looks(vcpu, false))
			continue;
		if (unlikely(!vcpu_has_started(vcpu))) {
			startup_step(vcpu);
			continue;
		}
		if (debugger_on() && unlikely(vcpu->debug.work) && !debugger->enter(vcpu))
			continue;
		if (vcpu->halted) {
			/*
			 * HLT ends by an event that the guest takes; the other reasons to look up
			 * are above.
			 */
			vcpu->halted = !vcpu_wakes(vcpu);
			if (vcpu->halted)
				host_cpu_wait();
			continue;
		}
		if (!debugger_on() || likely(vcpu->debug.step == STEP_NONE))
			vcpu_queue_events(vcpu);
		return true;
	}
}

/* A debugger does not say when: it is looked for always. */
static bool must_look(const struct vcpu *vcpu)
{
	return __atomic_load_n(vcpu->kick, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&vcpu->look, __ATOMIC_ACQUIRE) || debugger_on();
}

static void loop(struct vcpu *vcpu)
{
	struct vmexit exit;

	while (look(vcpu))
		do {
			vcpu_note_in_guest(vcpu, true);
			hvm->run(vcpu, &exit);
			vcpu_note_in_guest(vcpu, false);
			if (likely(!vmexit_is_done(&exit)))
				vmexit_dispatch(vcpu, &exit);
			if (debugger_on() && unlikely(vcpu->debug.retired))
				debugger->retired(vcpu);
		} while (likely(!must_look(vcpu)));
}

/* Backend state and the power-on values of everything that the guest can see. */
static int prepare(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	const struct stage2 *s = &vm_parts(vm)->stage2;
	int err;

	host_account(&vm->own_bytes);
	err = hvm->vcpu_create(vcpu);
	host_account(NULL);
	if (err)
		return host_no_memory(vm->name);
	hvm->vcpu_load(vcpu);
	vcpu_power_on(vcpu);
	vcpu->kick = host_cpu_kick_word();
	vcpu->tsc_offset = vm->tsc_offset;
	hvm->set_tsc_offset(vcpu, vcpu->tsc_offset);
	if (vcpu->id == 0)
		vm->entry_state(vm, vcpu);
	host_fpu_reset(vm_parts(vm)->cpuid.xcr0_allowed);
	vcpu->xcr0 = XCR0_X87;
	msr_open_passthrough(vcpu);
	stages_vcpu(vcpu, VCPU_STARTS);
	if (__atomic_add_fetch(&vm->ready, 1, __ATOMIC_ACQ_REL) == vm->nr_vcpus)
		vm_note(vm, "own memory: %lu KiB, and %lu KiB of tables",
			(vm->own_bytes - s->tables * PAGE_SIZE) >> 10, s->tables * PAGE_SIZE >> 10);
	return 0;
}

static void vcpu_work(struct host_work *work)
{
	struct vcpu *vcpu = container_of(work, struct vcpu, work);
	struct vm *vm = vcpu->vm;

	if (VM_VCPU_BEHIND)
		__atomic_sub_fetch(&vm->live_vcpus, VM_VCPU_BEHIND, __ATOMIC_ACQ_REL);
	stages_vcpu(vcpu, VCPU_ENTERS);
	if (hvm->cpu_on()) {
		vm_end(vm, VM_END_CRASH);
	} else {
		if (prepare(vcpu)) {
			vm_end(vm, VM_END_CRASH);
		} else {
			/*
			 * Until each vCPU has its CPU, which may take as long as others keep it;
			 * this one may be the console's.
			 */
			while (!__atomic_load_n(&vm_own(vm, started), __ATOMIC_ACQUIRE) ||
			       (vm_begins_together(vm) && preparing(vm)))
				host_interrupt_window();
			vcpu_calls(vcpu, true);
			shootdown_join(vcpu);
			loop(vcpu);
			shootdown_leave(vcpu);
			vcpu_calls(vcpu, false);
			stages_vcpu(vcpu, VCPU_STOPS);
			hvm->vcpu_destroy(vcpu);
		}
		if (!vm_still_sends(vm))
			hvm->cpu_off();
	}
	vcpu_leave(vcpu);
}

/*
 * What its guest has led us to is nobody's: a barrier behind all checks of addresses. Or the
 * machine's, which has lost it.
 */
static void vcpu_fault(struct host_work *work, enum host_fault why, u64 lost)
{
	struct vcpu *vcpu = container_of(work, struct vcpu, work);

	if (vcpu_fault_is_lost(vcpu, why, lost))
		return;
	vm_tell(vcpu->vm,
		"vcpu%u: the hypervisor has met device registers that are not there: a defect of its own",
		vcpu->id);
	vcpu_die(vcpu, VM_END_CRASH);
}

/*
 * The VM owns the CPU, which may still have a work item of the time before: the last instructions
 * of the VM that has just ended, or another VM's start, which zeroes that one's memory.
 */
static int assign(struct vcpu *vcpu)
{
	const struct host_cpu_info *info = host_cpu_info(vcpu->cpu);
	int err;

	vcpu->work = (struct host_work){ .name = vcpu->vm->name,
					 .run = vcpu_work,
					 .core_is_vms = vcpu_core_is_vms };
	if (IS_ENABLED(CONFIG_PASSTHROUGH) || IS_ENABLED(CONFIG_MACHINE_CHECKS))
		vcpu->work.fault = vcpu_fault;
	/* Two starts may wait for each other's CPU: none stays on its own until it gets that. */
	while ((err = host_cpu_assign_behind(vcpu->cpu, &vcpu->work)) == -EBUSY &&
	       running(vcpu->vm))
		host_interrupt_window();
	if (err)
		return err;
	vm_note(vcpu->vm, "vcpu%u: CPU %u, APIC ID %u, node %d", vcpu->id, vcpu->cpu, info->apic_id,
		info->node);
	return 0;
}

int vm_start(struct vm *vm)
{
	unsigned i;

	vm->started_at = host_tsc();
	vm->tsc_offset = vm_direct(vm) ? 0 : -(s64)vm->started_at;
	/* One count is this function's own: the VM cannot be taken down while it hands out CPUs. */
	__atomic_store_n(&vm->live_vcpus, 1, __ATOMIC_RELEASE);
	for (i = 0; i < vm->nr_vcpus; i++) {
		struct vcpu *vcpu = vm->vcpus[i];

		__atomic_add_fetch(&vm->live_vcpus, 1 + VM_VCPU_BEHIND, __ATOMIC_ACQ_REL);
		vcpu->live = true;
		if (assign(vcpu)) {
			vcpu->live = false;
			__atomic_sub_fetch(&vm->live_vcpus, 1 + VM_VCPU_BEHIND, __ATOMIC_ACQ_REL);
			vm_end(vm, VM_END_CRASH);
			break;
		}
	}
	__atomic_store_n(&vm_own(vm, started), true, __ATOMIC_RELEASE);
	/* Where there is somebody who waits for all, he has it taken down as soon as this is 0. */
	return __atomic_sub_fetch(&vm->live_vcpus, 1, __ATOMIC_ACQ_REL) || vm_is_waited_for(i)
		       ? 0
		       : -EBUSY;
}
