/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The short way of an SVM guest's exits (vmm/emulate/lean.h), from run.asm and back
 * into the guest. First with GIF = 0 and the guest's FS, GS and TR still in
 * the CPU: what is done there uses nothing of the CPU that it runs on, and does
 * not fault. Kicks need no look: an NMI that came meanwhile ends the guest at
 * once. What needs more is done once these registers are the host's.
 */
#include "vmm/emulate/lean.h"
#include "vmm/svm/svm.h"

/* May the instruction just be stepped over, to `next`? Not with these flags. */
static inline bool may_unless(struct vcpu *vcpu, const struct vmcb *v, u64 next, u64 flags)
{
	vcpu->regs.rip = v->rip;
	return lean_may(vcpu, v->rip) &&
	       likely(!(v->rflags & flags) && !(v->int_state & SVM_INTR_SHADOW) &&
		      next - v->rip - 1 < INSN_MAX);
}

static inline bool may(struct vcpu *vcpu, const struct vmcb *v, u64 next)
{
	return may_unless(vcpu, v, next, LEAN_NOT_RFLAGS);
}

/* Whoever has made the vCPU look meanwhile has sent an NMI, too. */
static inline int done(struct vcpu *vcpu, struct vmcb *v, u64 next, enum vmexit_reason reason,
		       u32 code)
{
	v->rip = next;
	v->clean = SVM_CLEAN;
	lean_done(vcpu, reason, code, vcpu->regs.rip);
	return SVM_AGAIN;
}

static inline int wants_host(struct vcpu *vcpu, u64 next)
{
	svm_vcpu(vcpu)->next_rip = next;
	return SVM_HOST;
}

static noinline int rdmsr_exit(struct vcpu *vcpu, struct vmcb *v, u64 next)
{
	return lean_rdmsr(vcpu, &v->rax) ? done(vcpu, v, next, VMEXIT_RDMSR, SVM_EXIT_MSR)
					 : wants_host(vcpu, next);
}

/* next: where the instruction ends, but for a port's. Calls nothing but at its end. */
static noinline int deal(struct vcpu *vcpu, struct vmcb *v, u64 next)
{
	u64 code = v->exit_code;

	if (code == SVM_EXIT_MSR) {
		if (!may(vcpu, v, next))
			return SVM_ENTERED;
		if (v->exit_info1)
			return wants_host(vcpu, next);
		return lean_rdmsr_base(vcpu, &v->rax)
			       ? done(vcpu, v, next, VMEXIT_RDMSR, SVM_EXIT_MSR)
			       : rdmsr_exit(vcpu, v, next);
	}
	if (code == SVM_EXIT_CPUID) {
		if (may(vcpu, v, next) && lean_cpuid(vcpu, &v->rax))
			return done(vcpu, v, next, VMEXIT_CPUID, SVM_EXIT_CPUID);
	} else if (code == SVM_EXIT_IOIO) {
		u32 info = (u32)v->exit_info1;

		next = v->exit_info2;
		/* String instructions, and breakpoints that may be on ports. */
		if (info & SVM_IOIO_STRING || v->dr7 & DR7_ENABLED || !may(vcpu, v, next))
			return SVM_ENTERED;
		if (!lean_no_port(vcpu, (u16)(info >> 16), info >> SVM_IOIO_SIZE_SHIFT & 7,
				  info & SVM_IOIO_IN, &v->rax))
			return wants_host(vcpu, next);
		return done(vcpu, v, next, VMEXIT_IO, SVM_EXIT_IOIO);
	} else if (code == SVM_EXIT_VMMCALL) {
		if (may(vcpu, v, next) && lean_hypercall(&v->rax, v->cpl))
			return done(vcpu, v, next, VMEXIT_HYPERCALL, SVM_EXIT_VMMCALL);
	}
	return SVM_ENTERED;
}

/*
 * Stage-2 exits, but for those in the guest's tables, by fetching code, or by delivering an event.
 */
static inline int fault(struct vcpu *vcpu, const struct vmcb *v)
{
	return !(v->exit_info1 & (PFERR_I | SVM_NPF_GUEST_TABLE)) &&
			       !(v->exit_int_info & SVM_EVENT_V) && !(v->dr7 & DR7_ENABLED) &&
			       may_unless(vcpu, v, v->rip + 1, RFLAGS_TF)
		       ? SVM_HOST
		       : SVM_ENTERED;
}

/*
 * What the last entry left to be done, if it is no more than to forget it. False: the long way
 * knows more.
 */
static bool settle(struct svm_vcpu *s)
{
	struct vmcb *v = s->vmcb;

	if (s->stepping || (s->posted && v->v_intr & SVM_V_IRQ))
		return false;
	if (s->posted)
		v->v_intr &= ~SVM_V_INTR;
	v->tlb_control = SVM_TLB_KEEP;
	v->event_inj = 0;
	s->posted = s->unsettled = false;
	return true;
}

/*
 * What more there may be to do: the CPU does not say how long the instruction is, or the last entry
 * is not forgotten.
 */
static noinline int deal_more(struct vcpu *vcpu, struct svm_vcpu *s)
{
	struct vmcb *v = s->vmcb;
	u64 code = v->exit_code, next = v->next_rip;

	if (s->unsettled && !settle(s))
		return SVM_ENTERED;
	if (code == SVM_EXIT_NPF)
		return fault(vcpu, v);
	if (!svm_features.nrips &&
	    (code == SVM_EXIT_MSR || code == SVM_EXIT_CPUID || code == SVM_EXIT_VMMCALL)) {
		vcpu->regs.rip = v->rip;
		next = v->rip + emulate_peek_length(vcpu);
	}
	return deal(vcpu, v, next);
}

int svm_lean(struct guest_regs *regs)
{
	struct vcpu *vcpu = container_of(regs, struct vcpu, regs);
	struct svm_vcpu *s = svm_vcpu(vcpu);
	struct vmcb *v = s->vmcb;

	if (unlikely(s->unsettled))
		return deal_more(vcpu, s);
	if (v->exit_code == SVM_EXIT_NPF)
		return fault(vcpu, v);
	if (!svm_features.nrips && v->exit_code != SVM_EXIT_IOIO)
		return deal_more(vcpu, s);
	return deal(vcpu, v, v->next_rip);
}

/* As svm_get_context() has it, is it what vcpu->fetched is of, in 64-bit mode? */
static inline bool same_context(const struct vcpu *vcpu, const struct svm_vcpu *s)
{
	const struct hvm_context *c = &vcpu->fetched.context;
	const struct vmcb *v = s->vmcb;

	return !(((v->cr0 | s->cr0_cache) ^ c->cr0) |
		 (((v->cr4 & ~CR4_MCE) | s->cr4_mce) ^ c->cr4) | (v->cr3 ^ c->cr3) |
		 ((v->efer & ~EFER_SVME) ^ c->efer) | ((v->cpl & 3u) ^ c->cpl)) &&
	       v->efer & EFER_LMA && v->cs.attr & SEG_ATTR_L >> 4;
}

static inline u64 mmio(struct vcpu *vcpu, struct vmcb *v)
{
	u64 *rax = &vcpu->regs.gpr[GPR_RAX];
	unsigned len;

	if (!same_context(vcpu, svm_vcpu(vcpu)))
		return 0;
	*rax = v->rax;
	len = lean_mmio(vcpu, gpa(v->exit_info2), v->exit_info1 & PFERR_W);
	v->rax = *rax;
	return len;
}

int svm_lean_host(struct guest_regs *regs)
{
	struct vcpu *vcpu = container_of(regs, struct vcpu, regs);
	struct svm_vcpu *s = svm_vcpu(vcpu);
	struct vmcb *v = s->vmcb;
	u32 info = (u32)v->exit_info1;
	u64 next = s->next_rip;

	if (v->exit_code == SVM_EXIT_MSR) {
		if (!info || !lean_wrmsr(vcpu, v->rax))
			return SVM_ENTERED;
		(void)done(vcpu, v, next, VMEXIT_WRMSR, SVM_EXIT_MSR);
	} else if (v->exit_code == SVM_EXIT_NPF) {
		u64 len = mmio(vcpu, v);

		if (!len)
			return SVM_ENTERED;
		v->rflags &= ~RFLAGS_RF; /* it covers one instruction */
		(void)done(vcpu, v, v->rip + len, VMEXIT_STAGE2, SVM_EXIT_NPF);
	} else {
		emulate_port(vcpu, (u16)(info >> 16), info >> SVM_IOIO_SIZE_SHIFT & 7,
			     info & SVM_IOIO_IN, &v->rax);
		(void)done(vcpu, v, next, VMEXIT_IO, SVM_EXIT_IOIO);
	}
	v->clean = 0; /* devices may have changed more */
	/* a new ASID: the next entry's flush is none of the one after it */
	s->unsettled |= v->tlb_control;
	return lean_must_look(vcpu) ? SVM_DONE : SVM_AGAIN;
}
