/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One entry into an SVM guest: event injection (APM vol. 2, 15.20 and 15.21), windows,
 * and the translation of the exit (15.6-15.14, appendix C) into struct vmexit.
 */
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/upcall.h"
#include "arch/x86_64/stage2/stage2.h"
#include "vmm/svm/svm.h"

void svm_request_irq_window(struct vcpu *vcpu, bool on)
{
	struct vmcb *v = svm_vcpu(vcpu)->vmcb;

	/* A virtual interrupt that is never delivered: its intercept comes when it could be. */
	if (on) {
		v->v_intr |= SVM_V_INTR;
		v->intercept_misc1 |= SVM_INTERCEPT_VINTR;
	} else {
		v->v_intr &= ~SVM_V_INTR;
		v->intercept_misc1 &= ~SVM_INTERCEPT_VINTR;
	}
}

/* One instruction with our TF; its #DB ends NMI blocking or the shadow. */
static void step(struct vcpu *vcpu, struct svm_vcpu *s)
{
	s->stepping = true;
	s->guest_tf = vcpu->regs.rflags & RFLAGS_TF;
	vcpu->regs.rflags |= RFLAGS_TF;
}

/*
 * Another exit came before the step's #DB: TF is the guest's again, and who still wants the window
 * asks again.
 */
static void stop_stepping(struct vcpu *vcpu, struct svm_vcpu *s)
{
	s->stepping = false;
	if (!s->guest_tf)
		vcpu->regs.rflags &= ~RFLAGS_TF;
	if (s->nmi_blocked)
		s->vmcb->intercept_misc1 |= SVM_INTERCEPT_IRET;
}

void svm_request_nmi_window(struct vcpu *vcpu)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);

	if (!s->nmi_blocked && !s->stepping)
		step(vcpu, s);
}

/*
 * On TCG an interrupt is posted as a virtual one (15.21.4), which the guest takes at
 * once, not as an event: TCG delivers an injected interrupt a second time, into
 * a handler with IF = 0, when a time slice of its own ends before the next exception.
 * KVM on TCG wants events: of a virtual interrupt whose delivery meets a page that KVM
 * has yet to map, TCG says that it was an exception, and KVM's next VMRUN fails.
 */
static void post(struct svm_vcpu *s, struct hvm_event *e)
{
	s->vmcb->v_intr = (u32)s->vmcb->v_intr | SVM_V_INTR | (u64)e->vector << SVM_V_VECTOR_SHIFT;
	s->posted = true;
	e->type = HVM_EVENT_NONE;
}

/*
 * After the exit. V_IRQ is still set if the guest was stopped before, or (TCG) while it took the
 * interrupt.
 */
static void take_back(struct vcpu *vcpu, struct svm_vcpu *s)
{
	u64 intr = s->vmcb->v_intr;

	s->posted = false;
	if (intr & SVM_V_IRQ)
		vcpu->event = (struct hvm_event){ .type = HVM_EVENT_INTR,
						  .vector = (u8)(intr >> SVM_V_VECTOR_SHIFT) };
	s->vmcb->v_intr &= ~SVM_V_INTR;
}

static void inject(struct vcpu *vcpu, struct svm_vcpu *s)
{
	struct hvm_event *e = &vcpu->event;
	u64 inj = e->vector | SVM_EVENT_V;

	if (e->type == HVM_EVENT_NONE)
		return;
	/*
	 * Delivery saves RFLAGS, and not with our TF: the IRET brings an NMI that waits for the
	 * step back to mind.
	 */
	if (unlikely(s->stepping)) {
		stop_stepping(vcpu, s);
		s->vmcb->intercept_misc1 |= SVM_INTERCEPT_IRET;
	}
	switch (e->type) {
	case HVM_EVENT_NONE: return;
	case HVM_EVENT_INTR:
		if (cpu_features.tcg) {
			post(s, e);
			return;
		}
		inj |= SVM_EVENT_INTR << SVM_EVENT_TYPE_SHIFT;
		break;
	case HVM_EVENT_NMI:
		inj |= SVM_EVENT_NMI << SVM_EVENT_TYPE_SHIFT;
		s->nmi_blocked = true;
		s->vmcb->intercept_misc1 |= SVM_INTERCEPT_IRET;
		break;
	case HVM_EVENT_EXCEPTION: inj |= SVM_EVENT_EXCEPTION << SVM_EVENT_TYPE_SHIFT; break;
	}
	if (e->has_error)
		inj |= SVM_EVENT_EV | (u64)e->error << 32;
	s->vmcb->event_inj = inj;
	e->type = HVM_EVENT_NONE;
}

/* An event whose delivery the exit cut short comes back into vcpu->event. */
static void recover_event(struct vcpu *vcpu, u64 info)
{
	struct hvm_event *e = &vcpu->event;
	u8 vector = info & SVM_EVENT_VECTOR;

	if (likely(!(info & SVM_EVENT_V)))
		return;
	*e = (struct hvm_event){ .vector = vector,
				 .has_error = info & SVM_EVENT_EV,
				 .error = (u32)(info >> 32) };
	switch (info >> SVM_EVENT_TYPE_SHIFT & 7) {
	case SVM_EVENT_INTR: e->type = HVM_EVENT_INTR; break;
	case SVM_EVENT_NMI: e->type = HVM_EVENT_NMI; break;
	case SVM_EVENT_EXCEPTION:
		/* INT3 and INTO run again. */
		e->type =
			vector == VEC_BP || vector == VEC_OF ? HVM_EVENT_NONE : HVM_EVENT_EXCEPTION;
		break;
	default: break;
	}
}

static void decode_exception(struct vcpu *vcpu, struct svm_vcpu *s, struct vmexit *exit, u8 vector)
{
	if (vector == VEC_MC) {
		machine_check_of_guest();
		exit->reason = VMEXIT_NMI;
		return;
	}
	exit->reason = VMEXIT_EXCEPTION;
	exit->exception.vector = vector;
	exit->exception.has_error = vector == VEC_DF || (vector >= VEC_TS && vector <= VEC_PF) ||
				    vector == VEC_AC || vector == VEC_CP;
	exit->exception.error = exit->exception.has_error ? (u32)s->vmcb->exit_info1 : 0;
	exit->exception.qualification = vector == VEC_PF ? s->vmcb->exit_info2 : 0;
	if (vector != VEC_DB || !s->stepping)
		return;
	/* Our own step. The instruction may have been the IRET, which loaded TF itself. */
	s->stepping = false;
	s->nmi_blocked = false;
	if (!s->guest_tf) {
		s->vmcb->dr6 &= ~DR6_BS;
		exit->reason = VMEXIT_NMI_WINDOW;
		vcpu->regs.rflags &= ~RFLAGS_TF;
	}
}

static void decode_io(const struct vmcb *v, struct vmexit *exit)
{
	u32 info = (u32)v->exit_info1;

	exit->reason = VMEXIT_IO;
	exit->insn_len = (u8)(v->exit_info2 - v->rip);
	exit->io.port = (u16)(info >> 16);
	exit->io.size = info >> SVM_IOIO_SIZE_SHIFT & 7;
	exit->io.in = info & SVM_IOIO_IN;
	exit->io.string = info & SVM_IOIO_STRING;
	exit->io.rep = info & SVM_IOIO_REP;
}

static void decode_npf(const struct vmcb *v, struct vmexit *exit)
{
	u64 error = v->exit_info1;

	exit->reason = VMEXIT_STAGE2;
	exit->stage2.gpa = gpa(v->exit_info2);
	exit->stage2.write = error & PFERR_W;
	exit->stage2.exec = error & PFERR_I;
	exit->stage2.walk = error & SVM_NPF_GUEST_TABLE;
}

static void decode_cr(const struct vmcb *v, struct vmexit *exit, u8 cr, bool write)
{
	exit->reason = VMEXIT_CR;
	exit->cr.kind = CR_MOV;
	exit->cr.cr = cr;
	exit->cr.write = write;
	exit->cr.decoded = svm_features.decode_assists && v->exit_info1 & SVM_CR_MOV;
	exit->cr.gpr = v->exit_info1 & SVM_CR_GPR;
}

/* Exit codes that translate without further data; + 1, so that 0 is "not here". */
static const u8 simple[0x90] = {
	[SVM_EXIT_INTR] = VMEXIT_EXTINT + 1,
	[SVM_EXIT_NMI] = VMEXIT_NMI + 1,
	[SVM_EXIT_INIT] = VMEXIT_INIT + 1,
	[SVM_EXIT_VINTR] = VMEXIT_IRQ_WINDOW + 1,
	[SVM_EXIT_RDPMC] = VMEXIT_RDPMC + 1,
	[SVM_EXIT_CPUID] = VMEXIT_CPUID + 1,
	[SVM_EXIT_INVD] = VMEXIT_WBINVD + 1,
	[SVM_EXIT_HLT] = VMEXIT_HLT + 1,
	[SVM_EXIT_INVLPGA] = VMEXIT_VIRT_INSN + 1,
	[SVM_EXIT_SHUTDOWN] = VMEXIT_TRIPLE_FAULT + 1,
	[SVM_EXIT_VMRUN] = VMEXIT_VIRT_INSN + 1,
	[SVM_EXIT_VMMCALL] = VMEXIT_HYPERCALL + 1,
	[SVM_EXIT_VMMCALL + 1 ... SVM_EXIT_SKINIT] = VMEXIT_VIRT_INSN + 1,
	[SVM_EXIT_WBINVD] = VMEXIT_WBINVD + 1,
	[SVM_EXIT_MONITOR] = VMEXIT_MWAIT + 1,
	[SVM_EXIT_MWAIT] = VMEXIT_MWAIT + 1,
	[SVM_EXIT_XSETBV] = VMEXIT_XSETBV + 1,
	[SVM_EXIT_RDPRU] = VMEXIT_VIRT_INSN + 1,
};

static void decode(struct vcpu *vcpu, struct svm_vcpu *s, struct vmexit *exit)
{
	struct vmcb *v = s->vmcb;
	u64 code = v->exit_code;

	exit->raw = code;
	exit->insn_len =
		svm_features.nrips && v->next_rip - v->rip <= 15 ? (u8)(v->next_rip - v->rip) : 0;
	if (likely(code < ARRAY_SIZE(simple) && simple[code])) {
		exit->reason = simple[code] - 1u;
	} else if ((u32)code == (u32)SVM_EXIT_INVALID) { /* TCG stores 32 bits of it */
		exit->reason = VMEXIT_ENTRY_FAILED;
	} else if (code == SVM_EXIT_MSR) {
		exit->reason = v->exit_info1 ? VMEXIT_WRMSR : VMEXIT_RDMSR;
	} else if (code == SVM_EXIT_IOIO) {
		decode_io(v, exit);
	} else if (code == SVM_EXIT_NPF) {
		decode_npf(v, exit);
	} else if (code >= SVM_EXIT_EXCEPTION && code < SVM_EXIT_EXCEPTION + 32) {
		decode_exception(vcpu, s, exit, (u8)(code - SVM_EXIT_EXCEPTION));
	} else if (code >= SVM_EXIT_DR_READ && code < SVM_EXIT_DR_WRITE + 16) {
		exit->reason = VMEXIT_DR;
	} else if (code < SVM_EXIT_CR_WRITE + 16) {
		decode_cr(v, exit, code & 15, code >= SVM_EXIT_CR_WRITE);
	} else if (IS_ENABLED(CONFIG_MITIGATIONS) && code == SVM_EXIT_BUS_LOCK) {
		/* The CPU has left the instruction undone. */
		v->bus_lock_counter = 1;
		exit->reason = VMEXIT_BUS_LOCK;
	} else if (code == SVM_EXIT_SWINT) {
		exit->reason = VMEXIT_EXCEPTION;
		exit->exception.vector = VEC_BP;
		exit->exception.has_error = false;
	} else if (code == SVM_EXIT_IRET) {
		/* NMIs stay blocked until the IRET has run: step it. */
		v->intercept_misc1 &= ~SVM_INTERCEPT_IRET;
		step(vcpu, s);
		exit->reason = VMEXIT_NMI_WINDOW;
	} else {
		exit->reason = VMEXIT_UNKNOWN;
	}
}

void svm_run(struct vcpu *vcpu, struct vmexit *exit)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);
	struct guest_regs *r = &vcpu->regs;
	struct vmcb *v = s->vmcb;
	int done;

	/*
	 * An NMI after the test is held back until VMRUN has set GIF again, and ends the guest at
	 * once.
	 */
	asm volatile("clgi" : : : "memory");
	if (unlikely(__atomic_load_n(vcpu->kick, __ATOMIC_RELAXED))) {
		asm volatile("stgi" : : : "memory");
		exit->reason = VMEXIT_KICKED;
		exit->raw = 0;
		return;
	}
	inject(vcpu, s);
	v->rax = r->gpr[GPR_RAX];
	v->rsp = r->gpr[GPR_RSP];
	v->rip = r->rip;
	v->rflags = r->rflags;
	v->int_state = r->shadow;
	svm_prepare_lean(s, v);
	if (vcpu_is_cleaned(vcpu))
		done = svm_enter_clean(r, s->vmcb_pa, s->host_vmcb_pa, vcpu->kick);
	else
		done = svm_enter(r, s->vmcb_pa, s->host_vmcb_pa,
				 IS_ENABLED(CONFIG_LEAN_EXITS) ? vcpu->kick : NULL);
	r->gpr[GPR_RAX] = v->rax;
	r->gpr[GPR_RSP] = v->rsp;
	r->rip = v->rip;
	r->rflags = v->rflags;
	r->shadow = v->int_state & SVM_INTR_SHADOW;
	v->event_inj = 0;
	/*
	 * Then a device may have asked for a new ASID since: what the entry itself took along is
	 * settled.
	 */
	if (svm_is_done(done)) {
		exit->reason = VMEXIT_DONE;
		return;
	}
	v->tlb_control = SVM_TLB_KEEP;
	recover_event(vcpu, v->exit_int_info);
	if (unlikely(s->posted))
		take_back(vcpu, s);
	if (unlikely(s->stepping) && v->exit_code != SVM_EXIT_EXCEPTION + VEC_DB)
		stop_stepping(vcpu, s);
	decode(vcpu, s, exit);
}

static const struct hvm_ops svm_ops = {
	.name = "SVM/NPT",
	.stage2_format = &npt_format,
	.probe = svm_probe,
	.cpu_on = svm_cpu_on,
	.cpu_off = svm_cpu_off,
	.vcpu_create = svm_vcpu_create,
	.vcpu_destroy = svm_vcpu_destroy,
	.vcpu_load = svm_vcpu_load,
	.vcpu_reset = svm_vcpu_reset,
	.run = svm_run,
	.get = svm_get,
	.set = svm_set,
	.get_segment = svm_get_segment,
	.get_context = svm_get_context,
	.set_segment = svm_set_segment,
	.set_desc_table = svm_set_desc_table,
	.get_desc_table = svm_get_desc_table,
	.request_irq_window = svm_request_irq_window,
	.request_nmi_window = svm_request_nmi_window,
	.intercept_msr = svm_intercept_msr,
	.intercept_io = svm_intercept_io,
	.intercept_exceptions = svm_intercept_exceptions,
	.intercept_dr = HVM_INTERCEPT_DR(svm_intercept_dr),
	.set_counters = HVM_SET_COUNTERS(svm_set_counters),
	.set_tsc_offset = svm_set_tsc_offset,
	.flush_stage2 = svm_flush_stage2,
	.dump = HVM_DUMP(svm_dump),
};
HVM_BACKEND(svm_ops);
