/* SPDX-License-Identifier: GPL-2.0-only */
/* Exit dispatch: a table from vendor-neutral reason to handler, and the handlers of a few lines. */
#include "vmm/exit/exit.h"

#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm.h"
#include "vmm/vm/debugger.h"

void exit_nothing(struct vcpu *, const struct vmexit *) { }

static void exit_extint(struct vcpu *, const struct vmexit *)
{
	host_interrupt_window();
}

static void exit_irq_window(struct vcpu *vcpu, const struct vmexit *)
{
	vcpu->irq_window = false;
	hvm->request_irq_window(vcpu, false);
}

static void exit_exception(struct vcpu *vcpu, const struct vmexit *exit)
{
	if (debugger_on() && debugger->exception(vcpu, exit)) {
		host_interrupt_window();
		return;
	}
	if (exit->exception.vector == VEC_DB) {
		/*
		 * An exit leaves DR6 and DR7 as before the exception (SDM vol. 3, 28.2); SVM
		 * reports no new bits.
		 */
		u64 bits = exit->exception.qualification;

		if (bits) /* INT1 sets none, and clears none */
			hvm->set(vcpu, HVM_DR6, dr6_after(hvm->get(vcpu, HVM_DR6), bits));
		hvm->set(vcpu, HVM_DR7, hvm->get(vcpu, HVM_DR7) & ~BIT(13)); /* GD */
	}
	if (exit->exception.has_error)
		vcpu_raise_error(vcpu, exit->exception.vector, exit->exception.error);
	else
		vcpu_raise(vcpu, exit->exception.vector);
	/*
	 * A guest can arrange that the delivery of #AC or #DB raises the next one,
	 * for ever and before any physical interrupt could end it.
	 */
	host_interrupt_window();
}

static void exit_hlt(struct vcpu *vcpu, const struct vmexit *exit)
{
	emulate_skip_exit(vcpu, exit);
	/* Single-stepped, or its bytes faulted: the exception comes first. */
	vcpu->halted = vcpu->event.type == HVM_EVENT_NONE;
	vcpu_look(vcpu);
}

noinline bool exit_may_disturb(struct vcpu *vcpu)
{
	u64 now = host_tsc();

	if (now < vcpu->disturb_after)
		return false;
	vcpu->disturb_after = now + host_tsc_khz() * 100;
	return true;
}

/* INVD would throw away the host's dirty lines too, so both write back. */
static void exit_wbinvd(struct vcpu *vcpu, const struct vmexit *exit)
{
	struct segment ss;

	/* The CPU tests the privilege before the exit, but TCG does not. */
	hvm->get_segment(vcpu, SEG_SS, &ss);
	if (ss.attr >> SEG_ATTR_DPL_SHIFT & 3) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return;
	}
	/*
	 * Memory is coherent but for a device whose DMA may not be. Until it may the guest stays on
	 * the instruction.
	 */
	if (vm_pci_has_functions(vcpu->vm->pci)) {
		if (!exit_may_disturb(vcpu))
			return;
		host_wbinvd();
	}
	emulate_skip_exit(vcpu, exit);
}

/* Instructions whose CPUID bit is hidden. */
static void exit_undefined(struct vcpu *vcpu, const struct vmexit *)
{
	vcpu_raise(vcpu, VEC_UD);
}

static void exit_rdpmc(struct vcpu *vcpu, const struct vmexit *)
{
	vcpu_raise_error(vcpu, VEC_GP, 0);
}

static void exit_task_switch(struct vcpu *vcpu, const struct vmexit *)
{
	emulate_give_up(vcpu, "hardware task switch: not emulated");
}

static void exit_triple_fault(struct vcpu *vcpu, const struct vmexit *)
{
	vm_tell(vcpu->vm, "vcpu%u: triple fault at RIP %#lx", vcpu->id, vcpu->regs.rip);
	/* The event that it began with, where the CPU says so. */
	if (vcpu->event.type != HVM_EVENT_NONE)
		vm_tell(vcpu->vm, "vcpu%u: while vector %u was delivered, error code %#x", vcpu->id,
			vcpu->event.vector, vcpu->event.error);
	vcpu_die(vcpu, VM_END_TRIPLE_FAULT);
}

static void exit_fatal(struct vcpu *vcpu, const struct vmexit *exit)
{
	vm_tell(vcpu->vm, "vcpu%u: %s, %s code %#lx, RIP %#lx", vcpu->id,
		exit->reason == VMEXIT_ENTRY_FAILED ? "entry-failed" : "unknown exit", hvm->name,
		exit->raw, vcpu->regs.rip);
	exit_dump(vcpu);
	vcpu_die(vcpu, VM_END_CRASH);
}

/* Intercepted for the debugger only. */
static void exit_dr(struct vcpu *vcpu, const struct vmexit *)
{
	if (debugger_on())
		debugger->exit_dr(vcpu);
}

const vmexit_handler vmexit_handlers[VMEXIT_REASONS] = {
	[VMEXIT_EXTINT] = exit_extint,
	/* vCPUs that kick this one without end must not keep physical interrupts out */
	[VMEXIT_NMI] = exit_extint,
	[VMEXIT_IRQ_WINDOW] = exit_irq_window,
	[VMEXIT_NMI_WINDOW] = exit_nothing,
	[VMEXIT_EXCEPTION] = exit_exception,
	[VMEXIT_CPUID] = exit_cpuid,
	[VMEXIT_HLT] = exit_hlt,
	[VMEXIT_IO] = emulate_io,
	[VMEXIT_RDMSR] = exit_rdmsr,
	[VMEXIT_WRMSR] = exit_wrmsr,
	[VMEXIT_CR] = exit_cr,
	[VMEXIT_STAGE2] = emulate_mmio,
	[VMEXIT_HYPERCALL] = exit_hypercall,
	[VMEXIT_XSETBV] = exit_xsetbv,
	[VMEXIT_WBINVD] = exit_wbinvd,
	[VMEXIT_VIRT_INSN] = exit_undefined,
	[VMEXIT_MWAIT] = exit_undefined,
	[VMEXIT_RDPMC] = exit_rdpmc,
	[VMEXIT_TASK_SWITCH] = exit_task_switch,
	[VMEXIT_TRIPLE_FAULT] = exit_triple_fault,
	[VMEXIT_DR] = exit_dr,
	[VMEXIT_INIT] = exit_init,
	[VMEXIT_ENTRY_FAILED] = exit_fatal,
	[VMEXIT_UNKNOWN] = exit_fatal,
	[VMEXIT_BUS_LOCK] = exit_bus_lock,
	[VMEXIT_KICKED] = exit_extint, /* as an NMI */
};
