/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One entry into a VT-x guest: event injection (SDM vol. 3, 27.6), windows,
 * and the translation of the exit (28.2, appendix C) into struct vmexit.
 */
#include "arch/x86_64/cpu/desc.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/upcall.h"
#include "arch/x86_64/stage2/stage2.h"
#include "vmm/vmx/vmx.h"

static void proc_control(struct vcpu *vcpu, u32 bit, bool on)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);

	x->proc_controls = on ? x->proc_controls | bit : x->proc_controls & ~bit;
	vmwrite(VMCS_PROC_CONTROLS, x->proc_controls);
}

void vmx_request_irq_window(struct vcpu *vcpu, bool on)
{
	proc_control(vcpu, PROC_IRQ_WINDOW, on);
}

void vmx_request_nmi_window(struct vcpu *vcpu)
{
	if (!(vmx_vcpu(vcpu)->proc_controls & PROC_NMI_WINDOW))
		proc_control(vcpu, PROC_NMI_WINDOW, true);
}

void vmx_intercept_dr(struct vcpu *vcpu, bool on)
{
	proc_control(vcpu, PROC_MOV_DR_EXITING, on);
}

static noinline void inject(const struct hvm_event *e)
{
	u64 info = e->vector | INTR_VALID;

	switch (e->type) {
	case HVM_EVENT_NONE: return;
	case HVM_EVENT_INTR: info |= INTR_TYPE_EXTERNAL << INTR_TYPE_SHIFT; break;
	case HVM_EVENT_NMI: info |= INTR_TYPE_NMI << INTR_TYPE_SHIFT; break;
	case HVM_EVENT_EXCEPTION: info |= INTR_TYPE_EXCEPTION << INTR_TYPE_SHIFT; break;
	}
	if (e->has_error) {
		info |= INTR_ERROR;
		vmwrite(VMCS_ENTRY_ERROR_CODE, e->error);
	}
	vmwrite(VMCS_ENTRY_INTR_INFO, info);
}

/*
 * An event whose delivery the exit cut short comes back into vcpu->event; software events run
 * again.
 */
static void recover_event(struct vcpu *vcpu)
{
	u32 info = (u32)vmread(VMCS_IDT_VECTORING_INFO);
	struct hvm_event *e = &vcpu->event;

	if (likely(!(info & INTR_VALID)))
		return;
	*e = (struct hvm_event){ .vector = info & INTR_VECTOR, .has_error = info & INTR_ERROR };
	if (e->has_error)
		e->error = (u32)vmread(VMCS_IDT_VECTORING_ERROR);
	switch (info >> INTR_TYPE_SHIFT & 7) {
	case INTR_TYPE_EXTERNAL: e->type = HVM_EVENT_INTR; break;
	case INTR_TYPE_NMI: /* an NMI is not injected while NMIs are blocked */
		e->type = HVM_EVENT_NMI;
		vmx_set(vcpu, HVM_NMI_BLOCKED, 0);
		break;
	case INTR_TYPE_EXCEPTION: e->type = HVM_EVENT_EXCEPTION; break;
	default: break;
	}
}

/* A fault of the IRET that ended NMI blocking puts it back (SDM vol. 3, 28.2.3). */
static void reblock_nmi(struct vcpu *vcpu, u64 bits)
{
	if (unlikely(bits & INTR_NMI_UNBLOCKED) && vcpu->event.type == HVM_EVENT_NONE)
		vmx_set(vcpu, HVM_NMI_BLOCKED, 1);
}

static void decode_exception(struct vcpu *vcpu, struct vmexit *exit)
{
	u32 info = (u32)vmread(VMCS_EXIT_INTR_INFO);

	if ((info >> INTR_TYPE_SHIFT & 7) == INTR_TYPE_NMI) {
		/*
		 * The exit has taken it and blocks further ones until an IRET: let the host's
		 * handler see it.
		 */
		asm volatile("int $2" : : : "memory");
		exit->reason = VMEXIT_NMI;
		return;
	}
	if ((info & INTR_VECTOR) == VEC_MC) {
		machine_check_of_guest();
		exit->reason = VMEXIT_NMI;
		return;
	}
	exit->reason = VMEXIT_EXCEPTION;
	exit->exception.vector = info & INTR_VECTOR;
	exit->exception.has_error = info & INTR_ERROR;
	exit->exception.error = exit->exception.has_error ? (u32)vmread(VMCS_EXIT_INTR_ERROR) : 0;
	exit->exception.qualification = vmread(VMCS_EXIT_QUALIFICATION);
	if (exit->exception.vector != VEC_DF)
		reblock_nmi(vcpu, info);
	/*
	 * INT1 is a trap, but the exit leaves RIP on it; injected as a plain #DB it would come back
	 * to itself. It is no single step, and behind it nothing is left of MOV SS' shadow, nor of
	 * the step that this has held back.
	 */
	if ((info >> INTR_TYPE_SHIFT & 7) == INTR_TYPE_INT1) {
		vcpu->regs.rip += exit->insn_len;
		vcpu->regs.shadow = 0;
		exit->exception.qualification &= ~DR6_BS;
	}
	/*
	 * An entry with TF and an interrupt shadow wants the single-step trap pending (27.3.1.5).
	 */
	if (exit->exception.vector == VEC_DB && vcpu->regs.rflags & RFLAGS_TF && vcpu->regs.shadow)
		vmwrite(VMCS_GUEST_PENDING_DEBUG, BIT(14));
}

/* SDM vol. 3, table 28-5. */
static void decode_io(struct vmexit *exit)
{
	u64 q = vmread(VMCS_EXIT_QUALIFICATION);

	exit->reason = VMEXIT_IO;
	exit->io.port = (u16)(q >> 16);
	exit->io.size = (u8)((q & 7) + 1);
	exit->io.in = q & BIT(3);
	exit->io.string = q & BIT(4);
	exit->io.rep = q & BIT(5);
}

/* SDM vol. 3, table 28-3. */
static void decode_cr(struct vmexit *exit)
{
	u64 q = vmread(VMCS_EXIT_QUALIFICATION);

	exit->reason = VMEXIT_CR;
	exit->cr.decoded = true;
	exit->cr.cr = q & 15;
	exit->cr.gpr = q >> 8 & 15;
	exit->cr.lmsw = (u16)(q >> 16);
	exit->cr.write = true;
	switch (q >> 4 & 3) {
	case 0: exit->cr.kind = CR_MOV; break;
	case 1:
		exit->cr.kind = CR_MOV;
		exit->cr.write = false;
		break;
	case 2: exit->cr.kind = CR_CLTS; break;
	default: exit->cr.kind = CR_LMSW;
	}
}

static void decode_ept(struct vcpu *vcpu, struct vmexit *exit)
{
	u64 q = vmread(VMCS_EXIT_QUALIFICATION);

	exit->reason = VMEXIT_STAGE2;
	exit->stage2.gpa = gpa(vmread(VMCS_GUEST_PHYSICAL_ADDRESS));
	exit->stage2.write = q & EPT_QUAL_WRITE;
	exit->stage2.exec = q & EPT_QUAL_FETCH;
	exit->stage2.walk = q & EPT_QUAL_LINEAR_VALID && !(q & EPT_QUAL_FINAL);
	reblock_nmi(vcpu, q);
}

/* Reasons that translate without further data; + 1, so that 0 is "not here". */
static const u8 simple[VMX_EXIT_TDCALL + 1] = {
	[VMX_EXIT_EXTINT] = VMEXIT_EXTINT + 1,
	[VMX_EXIT_TRIPLE_FAULT] = VMEXIT_TRIPLE_FAULT + 1,
	[VMX_EXIT_INIT] = VMEXIT_INIT + 1,
	[VMX_EXIT_IRQ_WINDOW] = VMEXIT_IRQ_WINDOW + 1,
	[VMX_EXIT_TASK_SWITCH] = VMEXIT_TASK_SWITCH + 1,
	[VMX_EXIT_CPUID] = VMEXIT_CPUID + 1,
	[VMX_EXIT_GETSEC] = VMEXIT_VIRT_INSN + 1,
	[VMX_EXIT_HLT] = VMEXIT_HLT + 1,
	[VMX_EXIT_INVD] = VMEXIT_WBINVD + 1,
	[VMX_EXIT_RDPMC] = VMEXIT_RDPMC + 1,
	[VMX_EXIT_VMCALL] = VMEXIT_HYPERCALL + 1,
	[VMX_EXIT_VMCLEAR... VMX_EXIT_VMXON] = VMEXIT_VIRT_INSN + 1,
	[VMX_EXIT_RDMSR] = VMEXIT_RDMSR + 1,
	[VMX_EXIT_WRMSR] = VMEXIT_WRMSR + 1,
	[VMX_EXIT_MWAIT] = VMEXIT_MWAIT + 1,
	[VMX_EXIT_MONITOR] = VMEXIT_MWAIT + 1,
	[VMX_EXIT_INVEPT] = VMEXIT_VIRT_INSN + 1,
	[VMX_EXIT_INVVPID] = VMEXIT_VIRT_INSN + 1,
	[VMX_EXIT_WBINVD] = VMEXIT_WBINVD + 1,
	[VMX_EXIT_XSETBV] = VMEXIT_XSETBV + 1,
	/* these two of any ring, and without a control */
	[VMX_EXIT_SEAMCALL] = VMEXIT_VIRT_INSN + 1,
	[VMX_EXIT_TDCALL] = VMEXIT_VIRT_INSN + 1,
};

static void decode(struct vcpu *vcpu, struct vmexit *exit)
{
	u32 raw = (u32)vmread(VMCS_EXIT_REASON);
	u16 reason = (u16)raw;

	exit->raw = raw;
	exit->insn_len = (u8)vmread(VMCS_EXIT_INSN_LEN);
	if (unlikely(raw & VMX_EXIT_ENTRY_FAILED)) {
		exit->reason = VMEXIT_ENTRY_FAILED;
		/* The guest is as it was, with its event still in the VMCS (27.9). */
		if (IS_ENABLED(CONFIG_MACHINE_CHECKS) && reason == VMX_EXIT_ENTRY_MACHINE_CHECK) {
			machine_check_of_guest();
			exit->reason = VMEXIT_NMI;
		}
		return;
	}
	recover_event(vcpu);
	if (IS_ENABLED(CONFIG_MITIGATIONS) && unlikely(raw & VMX_EXIT_BUS_LOCKED)) {
		vcpu->bus_locked = true;
		vcpu_look(vcpu);
	}
	if (likely(reason < ARRAY_SIZE(simple) && simple[reason])) {
		exit->reason = simple[reason] - 1u;
		return;
	}
	switch (reason) {
	case VMX_EXIT_EXCEPTION_NMI: decode_exception(vcpu, exit); break;
	case VMX_EXIT_IO: decode_io(exit); break;
	case VMX_EXIT_CR: decode_cr(exit); break;
	case VMX_EXIT_EPT_VIOLATION: decode_ept(vcpu, exit); break;
	case VMX_EXIT_DR: exit->reason = VMEXIT_DR; break;
	case VMX_EXIT_NMI_WINDOW:
		proc_control(vcpu, PROC_NMI_WINDOW, false);
		exit->reason = VMEXIT_NMI_WINDOW;
		break;
	default:
		exit->reason = IS_ENABLED(CONFIG_MITIGATIONS) && reason == VMX_EXIT_BUS_LOCK
				       ? VMEXIT_BUS_LOCK
				       : VMEXIT_UNKNOWN;
	}
}

static void not_entered(struct vcpu *vcpu, struct vmexit *exit, int entry)
{
	if (entry == VMX_ENTRY_FAILED) {
		exit->reason = VMEXIT_ENTRY_FAILED;
		exit->raw = vmread(VMCS_INSTRUCTION_ERROR);
		return;
	}
	/* Kicked: the event waits on. */
	if (vcpu->event.type != HVM_EVENT_NONE)
		vmwrite(VMCS_ENTRY_INTR_INFO, 0);
	exit->reason = VMEXIT_KICKED;
	exit->raw = 0;
}

/* What the VMCS has not yet of the guest's state. */
static void write_state(struct vcpu *vcpu)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);
	struct guest_regs *r = &vcpu->regs;

	if (vcpu->event.type != HVM_EVENT_NONE)
		inject(&vcpu->event);
	vmwrite(VMCS_GUEST_RIP, r->rip); /* nearly always another one */
	if (r->gpr[GPR_RSP] != x->rsp) {
		x->rsp = r->gpr[GPR_RSP];
		vmwrite(VMCS_GUEST_RSP, x->rsp);
	}
	if (r->rflags != x->rflags) {
		x->rflags = r->rflags;
		vmwrite(VMCS_GUEST_RFLAGS, x->rflags);
	}
	if (unlikely(x->interruptibility & INTERRUPTIBILITY_SHADOW && !r->shadow))
		vmx_set_interruptibility(x, x->interruptibility & ~(u64)INTERRUPTIBILITY_SHADOW);
}

static int enter(struct vcpu *vcpu, bool launched)
{
	if (vcpu_is_cleaned(vcpu))
		return vmx_enter_clean(&vcpu->regs, launched, vcpu->kick);
	return vmx_enter(&vcpu->regs, launched, vcpu->kick);
}

void vmx_run(struct vcpu *vcpu, struct vmexit *exit)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);
	struct guest_regs *r = &vcpu->regs;
	int entry;

	write_state(vcpu);
	entry = enter(vcpu, x->launched);
	if (unlikely(entry != VMX_ENTERED && !vmx_is_done(entry))) {
		not_entered(vcpu, exit, entry);
		return;
	}
	x->launched = true;
	vcpu->event.type = HVM_EVENT_NONE;
	r->rip = vmread(VMCS_GUEST_RIP);
	x->rsp = r->gpr[GPR_RSP] = vmread(VMCS_GUEST_RSP);
	x->rflags = r->rflags = vmread(VMCS_GUEST_RFLAGS);
	x->interruptibility = vmread(VMCS_GUEST_INTERRUPTIBILITY);
	r->shadow = x->interruptibility & INTERRUPTIBILITY_SHADOW;
	if (vmx_is_done(entry))
		exit->reason = VMEXIT_DONE;
	else
		decode(vcpu, exit);
}

static const struct hvm_ops vmx_ops = {
	.name = "VT-x/EPT",
	.stage2_format = &ept_format,
	.probe = vmx_probe,
	.cpu_on = vmx_cpu_on,
	.cpu_off = vmx_cpu_off,
	.vcpu_create = vmx_vcpu_create,
	.vcpu_destroy = vmx_vcpu_destroy,
	.vcpu_load = vmx_vcpu_load,
	.vcpu_reset = vmx_vcpu_reset,
	.run = vmx_run,
	.get = vmx_get,
	.set = vmx_set,
	.set_pdptes = vmx_set_pdptes,
	.get_segment = vmx_get_segment,
	.get_context = vmx_get_context,
	.set_segment = vmx_set_segment,
	.set_desc_table = vmx_set_desc_table,
	.get_desc_table = vmx_get_desc_table,
	.request_irq_window = vmx_request_irq_window,
	.request_nmi_window = vmx_request_nmi_window,
	.intercept_msr = vmx_intercept_msr,
	.intercept_io = vmx_intercept_io,
	.intercept_exceptions = vmx_intercept_exceptions,
	.intercept_dr = HVM_INTERCEPT_DR(vmx_intercept_dr),
	.set_counters = HVM_SET_COUNTERS(vmx_set_counters),
	.set_tsc_offset = vmx_set_tsc_offset,
	.flush_stage2 = vmx_flush_stage2,
	.dump = HVM_DUMP(vmx_dump),
};
HVM_BACKEND(vmx_ops);
