/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that owns the local APICs of its CPUs (interrupts = direct). Its x2APIC registers are the
 * CPU's own, but for those by which it could reach what is not its: the ICR, whose messages
 * lapic_ipi.c decodes and sends on one by one to the VM's own CPUs, unless there are no others (ipi
 * = direct); APIC_BASE; writes of SVR and of the timer's entry; and the entries of LINT0, LINT1,
 * thermal sensor, performance counters and errors, which are virtual, for the pins and the causes
 * are the LWK's. What a device of the monitor sends is an interrupt of the CPU's own as well.
 */
#include <margay/errno.h>

#include "vmm/dev/apic/lapic.h"
#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/vm.h"
#include "vmm/vm/startup.h"

#define X2(reg) (MSR_X2APIC_FIRST + (reg))
#define CPUID_1_ECX_DEADLINE BIT(24)
#define VM_CR_R_INIT BIT(1)

/* Of its CPUs' ICRs, those by which the guest sends by itself (ipi = direct). Atomic. */
static VM_OWN u32 icrs_open;

/*
 * Registers that the guest reads and writes itself; a CPU raises #GP for reserved bits by itself.
 * Not so all of them for the timer's entry: one that is delivered as SMI would leave its CPU deaf
 * to kicks.
 */
static const struct {
	u8 first;
	u8 last;
	bool read;
	bool write;
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

/* ---- the ICR, where it is the guest's, too (ipi = direct) ---------------------- */

int lapic_direct_check(const struct vm *vm)
{
	unsigned all = 0;

	if (!vm->config->ipi_direct)
		return 0;
	/* One that has not started would run what a guest's SIPI says. */
	while (host_cpu_info(all))
		all++;
	if (vm->nr_vcpus < all) {
		vm_refuse(
			vm, ipi,
			"ipi = direct: it has %u of the node's %u CPUs, and could send to all: use filtered",
			vm->nr_vcpus, all);
		return -EINVAL;
	}
	vm_note(vm, "ipi: direct");
	return 0;
}

static void set_icr(struct vcpu *vcpu, bool open)
{
	hvm->intercept_msr(vcpu, X2(LAPIC_ICR), !open, !open);
	vcpu->lapic->icr_open = open;
	if (open)
		__atomic_store_n(&vcpu->vm->icrs_used, true, __ATOMIC_RELAXED);
	__atomic_add_fetch(&vm_own(vcpu->vm, icrs_open), open ? 1 : -1u, __ATOMIC_SEQ_CST);
}

static bool all_started(const struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		if (__atomic_load_n(&vm->vcpus[i]->startup, __ATOMIC_SEQ_CST) != STARTUP_RUN)
			return false;
	return true;
}

/* Before an interrupt is sent for the guest: the next ones it sends itself. */
static void open_icr(struct vcpu *vcpu)
{
	if (!all_started(vcpu->vm))
		return;
	set_icr(vcpu, true);
	/* To whom INIT is sent has that stored first, and then looks which are open. */
	if (!all_started(vcpu->vm))
		set_icr(vcpu, false);
}

/* Before an INIT is carried out. On the CPU that has it. */
static void close_icr(struct vcpu *vcpu)
{
	struct lapic *l = vcpu->lapic;

	if (!l->icr_open)
		return;
	set_icr(vcpu, false);
	/*
	 * No CPU takes a SIPI while it has virtualization on. The last message may be one that goes
	 * with the INIT.
	 */
	host_rdmsr(X2(LAPIC_ICR), &l->icr);
	if ((l->icr >> 8 & 7) == APIC_SIPI)
		lapic_send_icr(l, l->icr);
}

void lapic_direct_init(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;

	lapic_reset(vcpu);
	if (!vm_direct(vm))
		return;
	close_icr(vcpu);
	for (unsigned i = 0;
	     __atomic_load_n(&vm_own(vm, icrs_open), __ATOMIC_SEQ_CST) && i < vm->nr_vcpus; i++) {
		u64 since = host_tsc();

		if (vm->vcpus[i] == vcpu)
			continue;
		while (vcpu_call(vm->vcpus[i], close_icr) == -EBUSY &&
		       vcpu_may_answer(vm->vcpus[i], since)) {
			/*
			 * Its owner may be waiting for this one: for a call to be taken, or for a
			 * flush.
			 */
			vcpu_serve_call(vcpu);
			shootdown_note(vcpu);
		}
	}
	host_apic_reset();
}

/* ---- registers, and the APIC as a whole ---------------------------------------- */

int lapic_direct_write(struct vcpu *vcpu, u32 reg, u64 value)
{
	if (reg == LAPIC_ICR && vcpu->vm->config->ipi_direct && (value >> 8 & 7) == APIC_FIXED &&
	    !vcpu->lapic->icr_open)
		open_icr(vcpu);
	if (reg == LAPIC_SVR)
		return host_apic_svr(value);
	return reg == LAPIC_LVT_TIMER ? host_wrmsr(X2(reg), value) : 0;
}

/*
 * AMD's CPUs keep an INIT that a guest has sent for the host, whom it would end: it shall be an
 * exception there, which trap.c takes (APM vol. 2, 15.30.1).
 */
static void redirect_init(bool on)
{
	u64 vm_cr;

	if (!host_rdmsr(MSR_AMD_VM_CR, &vm_cr))
		host_wrmsr(MSR_AMD_VM_CR, on ? vm_cr | VM_CR_R_INIT : vm_cr & ~VM_CR_R_INIT);
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
	if (vcpu->vm->config->ipi_direct) {
		vcpu->work.nmi = vcpu_nmi;
		redirect_init(true);
	}
	host_apic_give();
	set_open(vcpu->lapic, true);
}

/*
 * The VM has ended and kicked all: until nobody sends any more by his ICR, or those that have not
 * stopped are taken for lost. What becomes of these CPUs is seen when all others have left
 * (lost_cpus.c).
 */
static void wait_for_silence(struct vm *vm)
{
	u64 since = host_tsc(), patience = host_tsc_khz() * 1000 * VM_ANSWER_SECONDS;
	u32 before = 0, open;

	while ((open = __atomic_load_n(&vm_own(vm, icrs_open), __ATOMIC_SEQ_CST)) &&
	       !__atomic_load_n(&vm->still_sends, __ATOMIC_ACQUIRE)) {
		host_interrupt_window();
		/* Each says its last words first, on a slow line. */
		if (open != before)
			since = host_tsc();
		before = open;
		if (IS_ENABLED(CONFIG_LOST_CPUS) && host_tsc() - since > patience &&
		    !__atomic_exchange_n(&vm->still_sends, true, __ATOMIC_ACQ_REL))
			vm_tell(vm,
				"%u CPUs do not answer and could still send interrupts: none of the VM's takes any more, or is "
				"used, until the node restarts",
				open);
	}
}

void lapic_direct_stop(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;

	set_open(vcpu->lapic, false);
	if (vcpu->lapic->icr_open)
		set_icr(vcpu, false);
	/* No CPU goes back before the last one has stopped sending. */
	wait_for_silence(vm);
	if (vm->pci)
		pci_silence(vcpu);
	if (vm_still_sends(vm))
		return;
	host_apic_take_back();
	if (vm->config->ipi_direct) {
		direct_take_init(vcpu);
		redirect_init(false);
	}
}
