/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that owns the local APICs of its CPUs (interrupts = direct). Its
 * x2APIC registers are the CPU's own, but for those by which it could reach
 * what is not its: the ICR, whose messages lapic_ipi.c decodes and sends on one
 * by one to the VM's own CPUs; APIC_BASE; writes of SVR and of the timer's entry;
 * and the entries of LINT0, LINT1, thermal sensor, performance counters and
 * errors, which are virtual, for the pins and the causes are the LWK's. What a
 * device of the monitor sends is an interrupt of the CPU's own as well.
 */
#include "vmm/dev/lapic.h"
#include "vmm/hvm.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/vm.h"

#define X2(reg) (MSR_X2APIC_FIRST + (reg))
#define CPUID_1_ECX_DEADLINE BIT(24)

/*
 * Registers that the guest reads and writes itself; a CPU raises #GP for reserved bits by itself. Not so all of them for the
 * timer's entry: one that is delivered as SMI would leave its CPU deaf to kicks.
 */
static const struct {
	u8 first, last;
	bool read, write;
} own[] = {
	{ LAPIC_ID, LAPIC_ID, true, false },
	{ LAPIC_TPR, LAPIC_TPR, true, true },
	{ LAPIC_PPR, LAPIC_PPR, true, false },
	{ LAPIC_EOI, LAPIC_EOI, false, true },
	{ LAPIC_LDR, LAPIC_LDR, true, false },
	{ LAPIC_ISR, LAPIC_IRR + 7, true, false },
	{ LAPIC_LVT_TIMER, LAPIC_LVT_TIMER, true, false },
	{ LAPIC_TIMER_INITIAL, LAPIC_TIMER_INITIAL, true, true },
	{ LAPIC_TIMER_CURRENT, LAPIC_TIMER_CURRENT, true, false },
	{ LAPIC_TIMER_DIVIDE, LAPIC_TIMER_DIVIDE, true, true },
	{ LAPIC_SELF_IPI, LAPIC_SELF_IPI, false, true },
};

void lapic_direct_send(struct lapic *l, u8 vector)
{
	/* The vCPU closes this door, by the same lock, before its CPU goes back to the LWK. */
	spin_lock(&l->door);
	if (l->open)
		host_apic_interrupt(l->vcpu->cpu, vector);
	spin_unlock(&l->door);
}

static void set_open(struct lapic *l, bool open)
{
	spin_lock(&l->door);
	l->open = open;
	spin_unlock(&l->door);
}

int lapic_direct_write(u32 reg, u64 value)
{
	return reg == LAPIC_SVR ? host_apic_svr(value) : reg == LAPIC_LVT_TIMER ? host_wrmsr(X2(reg), value) : 0;
}

void lapic_direct_start(struct vcpu *vcpu, void *)
{
	struct cpuid_regs r;

	if (!vm_direct(vcpu->vm))
		return;
	host_cpuid(1, 0, &r);
	if (r.ecx & CPUID_1_ECX_DEADLINE)
		hvm->intercept_msr(vcpu, MSR_TSC_DEADLINE, false, false);
	for (unsigned i = 0; i < ARRAY_SIZE(own); i++)
		for (u32 reg = own[i].first; reg <= own[i].last; reg++)
			hvm->intercept_msr(vcpu, X2(reg), !own[i].read, !own[i].write);
	host_apic_give();
	set_open(vcpu->lapic, true);
}

void lapic_direct_stop(struct vcpu *vcpu)
{
	set_open(vcpu->lapic, false);
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && vcpu->vm->pci)
		pci_silence(vcpu);
	host_apic_take_back();
}
