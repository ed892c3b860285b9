/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that owns the local APICs of its CPUs (interrupts = direct). Its
 * x2APIC registers are the CPU's own, but for those by which it could reach
 * what is not its: the ICR, whose messages lapic_ipi.c decodes and sends on one
 * by one to the VM's own CPUs; APIC_BASE; SVR; and the entries of LINT0, LINT1,
 * thermal sensor, performance counters and errors, which are virtual, for the
 * pins and the causes are the LWK's. What a device of the monitor sends is an
 * interrupt of the CPU's own as well. IRR holds only what had been taken from
 * the CPU's APIC and could not be delivered: it is in service there.
 */
#include <margay/errno.h>

#include "vmm/dev/lapic.h"
#include "vmm/hvm.h"
#include "vmm/intc.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/ranges.h"
#include "vmm/vdev.h"
#include "vmm/vm.h"

#define X2(reg) (MSR_X2APIC_FIRST + (reg))
#define CPUID_1_ECX_DEADLINE BIT(24)

/* Registers that the guest reads and writes itself; a CPU raises #GP for the rest, and for reserved bits, by itself. */
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
	{ LAPIC_LVT_TIMER, LAPIC_LVT_TIMER, true, true },
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

static int x2apic_write(void *dev, struct vcpu *vcpu, u32 msr, u64 value)
{
	int err = lapic_x2apic_ops.write(dev, vcpu, msr, value);

	return err || msr != X2(LAPIC_SVR) ? err : host_wrmsr(msr, vcpu->lapic->svr);
}

/* Those that exit. */
static int x2apic_read(void *dev, struct vcpu *vcpu, u32 msr, u64 *value)
{
	return lapic_x2apic_ops.read(dev, vcpu, msr, value);
}

const struct msr_ops lapic_own_ops = { .read = x2apic_read, .write = x2apic_write };

static int base_read(void *, struct vcpu *vcpu, u32, u64 *value)
{
	*value = vcpu->apic_base;
	return 0;
}

/* It stays where it is and as it is: a kick between the two halves of an xAPIC's ICR would change the guest's. */
static int base_write(void *, struct vcpu *vcpu, u32, u64 value)
{
	if ((value ^ vcpu->apic_base) & ~(u64)APIC_BASE_BSP) {
		if (!__atomic_exchange_n(&vcpu->vm->vcpus[0]->lapic->move_told, true, __ATOMIC_RELAXED))
			vm_log(vcpu->vm, "vcpu%u: IA32_APIC_BASE = %#lx: #GP, for with interrupts = direct x2APIC mode stays on",
			       vcpu->id, value);
		return -EFAULT;
	}
	return 0;
}

const struct msr_ops lapic_direct_base_ops = { .read = base_read, .write = base_write };

static int pending(struct vcpu *vcpu)
{
	return lapic_highest(vcpu->lapic->irr);
}

static bool waiting(struct vcpu *vcpu)
{
	return pending(vcpu) >= 0;
}

static void accept(struct vcpu *vcpu, u8 vector)
{
	vcpu->lapic->irr[vector / 64] &= ~BIT(vector % 64);
}

static void unaccept(struct vcpu *vcpu, u8 vector)
{
	vcpu->lapic->irr[vector / 64] |= BIT(vector % 64);
}

static void init(struct vcpu *vcpu)
{
	lapic_reset_registers(vcpu);
	host_apic_reset();
}

/* Only where another intercept takes these along. */
static u64 get_cr8(struct vcpu *)
{
	u64 tpr;

	host_rdmsr(X2(LAPIC_TPR), &tpr);
	return tpr >> 4;
}

static void set_cr8(struct vcpu *, u64 value)
{
	host_wrmsr(X2(LAPIC_TPR), (value & 0xf) << 4);
}

const struct intc_ops lapic_direct_intc_ops = {
	.init = init,
	.pending = pending,
	.waiting = waiting,
	.accept = accept,
	.unaccept = unaccept,
	.get_cr8 = get_cr8,
	.set_cr8 = set_cr8,
	.msi = lapic_msi,
	.msi_vcpu = IS_ENABLED(CONFIG_PASSTHROUGH) ? lapic_msi_vcpu : NULL,
	.line = ioapic_line,
};

static int create(struct vm *, void **)
{
	return 0;
}

static void destroy(struct vm *, void *)
{
}

static void vcpu_start(struct vcpu *vcpu, void *)
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

static void vcpu_stop(struct vcpu *vcpu, void *)
{
	if (!vm_direct(vcpu->vm))
		return;
	set_open(vcpu->lapic, false);
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && vcpu->vm->pci)
		pci_silence(vcpu);
	host_apic_take_back();
}

static const struct vdev lapic_direct_vdev = {
	.name = "lapic-direct", .create = create, .destroy = destroy, .vcpu_start = vcpu_start, .vcpu_stop = vcpu_stop,
};
VDEV(lapic_direct_vdev);
