/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The short way of the most frequent exits, in images with LEAN_EXITS: a backend's run() goes it by
 * itself and enters the guest again, with no more of the guest's state read than the instruction
 * needs. What it does not do, or not without an exception, takes the long way, as if nothing had
 * been done. vcpu->regs is current but for RSP, RFLAGS and the shadow; whose RAX it is the backend
 * says. Each returns whether it has done it.
 */
#ifndef VMM_LEAN_H
#define VMM_LEAN_H

#include <margay/abi.h>

#include "vmm/emulate/emulate.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

/*
 * RFLAGS with which an instruction is more than stepped over: a trap behind it, or RF to be
 * cleared.
 */
#define LEAN_NOT_RFLAGS (RFLAGS_TF | RFLAGS_RF)

/*
 * May this exit take the short way at all? One that is timed, or that a debugger wants to see, may
 * not.
 */
static inline bool lean_may(const struct vcpu *vcpu, u64 rip)
{
	/* In 32 bits RIP might wrap. */
	return likely(!telemetry_due(&vcpu->stats) && (u32)rip <= ~0u - INSN_MAX && !debugger_on());
}

/* It was done; the backend moves RIP. */
static inline void lean_done(struct vcpu *vcpu, enum vmexit_reason reason, u32 code, u64 rip)
{
	telemetry_exit(&vcpu->stats, reason, code, rip);
	vcpu->retries = 0;
}

/* Must the loop be left then? */
static inline bool lean_must_look(const struct vcpu *vcpu)
{
	return unlikely(__atomic_load_n(&vcpu->look, __ATOMIC_ACQUIRE));
}

static inline bool lean_cpuid(struct vcpu *vcpu, u64 *rax)
{
	const struct cpuid_regs *r = cpuid_policy_plain(&vm_parts(vcpu->vm)->cpuid, (u32)*rax);
	u64 *gpr = vcpu->regs.gpr;

	if (unlikely(!r))
		return false;
	*rax = r->eax;
	gpr[GPR_RBX] = r->ebx;
	gpr[GPR_RCX] = r->ecx;
	gpr[GPR_RDX] = r->edx;
	return true;
}

/* A number that nobody knows, or no right to ask. */
static inline bool lean_hypercall(u64 *rax, unsigned cpl)
{
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && !cpl &&
	    *rax - MARGAY_HC_INFO <= MARGAY_HC_DMA_CONFIRM - MARGAY_HC_INFO)
		return false;
	*rax = (u64)(cpl ? MARGAY_HC_EPERM : MARGAY_HC_ENOSYS);
	return true;
}

/* A port that no device has, nor any other of its block. */
static inline bool lean_no_port(const struct vcpu *vcpu, u16 port, unsigned size, bool in, u64 *rax)
{
	if (vm_parts(vcpu->vm)->ranges.pio_from[port / PIO_BLOCK] != PIO_NONE)
		return false;
	if (in && size == 1)
		*(u8 *)rax = 0xff;
	else if (in && size == 2)
		*(u16 *)rax = 0xffff;
	else if (in)
		*rax = 0xffffffff;
	return true;
}

/* The one MSR of a device that takes no call. */
static inline bool lean_rdmsr_base(struct vcpu *vcpu, u64 *rax)
{
	if ((u32)vcpu->regs.gpr[GPR_RCX] != MSR_APIC_BASE)
		return false;
	*rax = (u32)vcpu->apic_base;
	vcpu->regs.gpr[GPR_RDX] = vcpu->apic_base >> 32;
	return true;
}

/* The others. */
static inline bool lean_rdmsr(struct vcpu *vcpu, u64 *rax)
{
	u64 *gpr = vcpu->regs.gpr, value = 0;
	u32 msr = (u32)gpr[GPR_RCX];
	const struct msr_range *d = msr_find(vcpu->vm, msr);

	if (!d || d->ops->read(d->dev, vcpu, msr, &value))
		return false;
	*rax = (u32)value;
	gpr[GPR_RDX] = value >> 32;
	return true;
}

static inline bool lean_wrmsr(struct vcpu *vcpu, u64 rax)
{
	u32 msr = (u32)vcpu->regs.gpr[GPR_RCX];
	const struct msr_range *d = msr_find(vcpu->vm, msr);

	return d && !d->ops->write(d->dev, vcpu, msr, vcpu->regs.gpr[GPR_RDX] << 32 | (u32)rax);
}

/*
 * vmm/emulate/lean_mmio.c: the access that a stage-2 exit tells of, by an instruction and not an
 * event's delivery. The guest is in 64-bit mode and in the context vcpu->fetched.context; all
 * general registers but RSP are current. The instruction's length, or 0: not done.
 */
unsigned lean_mmio(struct vcpu *vcpu, gpa_t addr, bool write);

#endif
