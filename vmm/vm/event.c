/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events for a guest: exceptions raised by the monitor, merged with one whose
 * delivery an exit cut short (SDM vol. 3, table 6-5), NMIs, and the
 * interrupt controller's vectors with their windows.
 */
#include "vmm/hvm.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/intc.h"

static bool contributory(u8 vector)
{
	return vector == VEC_DE || (vector >= VEC_TS && vector <= VEC_GP) || vector == VEC_CP;
}

static bool page_fault(u8 vector)
{
	return vector == VEC_PF || vector == VEC_VE;
}

/* Does a second exception while the first is being delivered make a double fault? */
static bool doubles(u8 first, u8 second)
{
	if (contributory(first))
		return contributory(second);
	return page_fault(first) && (contributory(second) || page_fault(second));
}

/* All but debug exceptions, traps, aborts and the debugger's INT n (SDM vol. 3, table 6-1). */
static bool is_fault(u8 vector)
{
	return vector < 32 && !(BIT(vector) & (BIT(VEC_DB) | BIT(VEC_BP) | BIT(VEC_OF) |
					       BIT(VEC_DF) | BIT(VEC_MC)));
}

/* An interrupt or NMI in delivery gives way to an exception; it stays pending. */
static void give_back(struct vcpu *vcpu)
{
	if (vcpu->event.type == HVM_EVENT_INTR) {
		vcpu->vm->intc->unaccept(vcpu, vcpu->event.vector);
		telemetry_given_back(&vcpu->stats, vcpu->event.vector);
	} else if (vcpu->event.type == HVM_EVENT_NMI) {
		hvm->set(vcpu, HVM_NMI_BLOCKED, 0);
		vcpu->nmi_pending = true;
	}
	vcpu_look(vcpu);
}

void vcpu_put_back_event(struct vcpu *vcpu)
{
	give_back(vcpu);
	if (vcpu->event.type != HVM_EVENT_EXCEPTION)
		vcpu->event.type = HVM_EVENT_NONE;
}

static void raise(struct vcpu *vcpu, u8 vector, bool has_error, u32 error)
{
	struct hvm_event *e = &vcpu->event;

	vcpu->watched = 0; /* told by this #DB, or the instruction faulted */
	if (e->type == HVM_EVENT_EXCEPTION) {
		if (e->vector == VEC_DF && (contributory(vector) || page_fault(vector))) {
			vcpu_die(vcpu, VM_END_TRIPLE_FAULT);
			return;
		}
		if (doubles(e->vector, vector)) {
			vector = VEC_DF;
			/* none in real mode: the entry would fail */
			has_error = hvm->get(vcpu, HVM_CR0) & CR0_PE;
			error = 0;
		}
	} else {
		give_back(vcpu);
	}
	/*
	 * The CPU pushes it for its own faults; an exit by an instruction has cleared it (18.3.1.1,
	 * 28.3.3).
	 */
	if (is_fault(vector))
		vcpu->regs.rflags |= RFLAGS_RF;
	*e = (struct hvm_event){ .type = HVM_EVENT_EXCEPTION,
				 .vector = vector,
				 .has_error = has_error,
				 .error = error };
}

void vcpu_raise(struct vcpu *vcpu, u8 vector)
{
	raise(vcpu, vector, false, 0);
}

void vcpu_raise_error(struct vcpu *vcpu, u8 vector, u32 error)
{
	/* Real mode delivers no error codes. */
	raise(vcpu, vector, hvm->get(vcpu, HVM_CR0) & CR0_PE, error);
}

void vcpu_raise_page_fault(struct vcpu *vcpu, u64 cr2, u32 error)
{
	hvm->set(vcpu, HVM_CR2, cr2);
	vcpu_raise_error(vcpu, VEC_PF, error);
}

static void irq_window(struct vcpu *vcpu, bool on)
{
	if (vcpu->irq_window == on)
		return;
	vcpu->irq_window = on;
	hvm->request_irq_window(vcpu, on);
}

static noinline void queue_nmi(struct vcpu *vcpu)
{
	bool blocked = vcpu->regs.shadow || hvm->get(vcpu, HVM_NMI_BLOCKED);

	/* It is more urgent than an interrupt whose delivery was cut short. */
	if (!blocked && vcpu->event.type == HVM_EVENT_INTR)
		vcpu_put_back_event(vcpu);
	if (!blocked && vcpu->event.type == HVM_EVENT_NONE) {
		vcpu->nmi_pending = false;
		vcpu->event = (struct hvm_event){ .type = HVM_EVENT_NMI, .vector = VEC_NMI };
	} else {
		hvm->request_nmi_window(vcpu);
	}
}

static noinline void queue_interrupt(struct vcpu *vcpu, u8 vector)
{
	/* More urgent than one whose delivery was cut short. */
	if (unlikely(vcpu->event.type == HVM_EVENT_INTR)) {
		give_back(vcpu);
		vcpu->event.type = HVM_EVENT_NONE;
	}
	if (vcpu->event.type == HVM_EVENT_NONE && vcpu->regs.rflags & RFLAGS_IF &&
	    !vcpu->regs.shadow) {
		vcpu->vm->intc->accept(vcpu, vector);
		vcpu->event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = vector };
		telemetry_injected(&vcpu->stats, vector);
		/* What else is pending waits for the EOI of this one. */
		irq_window(vcpu, false);
	} else {
		irq_window(vcpu, true);
	}
}

void vcpu_queue_events(struct vcpu *vcpu)
{
	int vector;

	if (unlikely(vcpu->nmi_pending))
		queue_nmi(vcpu);
	vector = vcpu->vm->intc->pending(vcpu);
	if (likely(vector < 0))
		irq_window(vcpu, false);
	else
		queue_interrupt(vcpu, (u8)vector);
	if (vcpu->nmi_pending || vcpu->vm->intc->waiting(vcpu))
		vcpu_look(vcpu);
}

bool vcpu_wakes(struct vcpu *vcpu)
{
	return vcpu->nmi_pending ||
	       (vcpu->regs.rflags & RFLAGS_IF && vcpu->vm->intc->pending(vcpu) >= 0);
}
