/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * INIT and SIPI (SDM vol. 3, 9.4 and 11.6.1): how one vCPU starts another.
 * INIT keeps what table 10-1 says it keeps: vector state and XCR0, the TSC,
 * MTRRs, and CR0's cache bits.
 */
#include "vmm/vm/startup.h"

#include "vmm/hvm.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/intc.h"
#include "vmm/vm/power_on.h"

void vcpu_init_ipi(struct vcpu *vcpu)
{
	__atomic_store_n(&vcpu->startup, STARTUP_INIT, __ATOMIC_RELEASE);
	vcpu_kick(vcpu);
}

void vcpu_sipi(struct vcpu *vcpu, u8 vector)
{
	u32 state = __atomic_load_n(&vcpu->startup, __ATOMIC_ACQUIRE);

	/*
	 * Only an INIT that is pending or done makes it listen; of several SIPIs the first counts.
	 */
	while (state == STARTUP_INIT || state == STARTUP_WAIT)
		if (__atomic_compare_exchange_n(&vcpu->startup, &state, STARTUP_SIPI | vector,
						false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
	vcpu_kick(vcpu);
}

static void init_state(struct vcpu *vcpu)
{
	u64 cache = hvm->get(vcpu, HVM_CR0) & (CR0_CD | CR0_NW), pat = hvm->get(vcpu, HVM_PAT);

	vcpu_power_on(vcpu);
	hvm->set(vcpu, HVM_CR0, CR0_ET | cache);
	hvm->set(vcpu, HVM_PAT, pat);
	vcpu->event.type = HVM_EVENT_NONE;
	vcpu->halted = vcpu->nmi_pending = false;
	vcpu->debugctl = 0;
	vcpu->vm->intc->init(vcpu);
}

static void start_at(struct vcpu *vcpu, u8 vector)
{
	struct segment cs = { .selector = (u16)(vector << 8),
			      .base = (u64)vector << 12,
			      .limit = 0xffff,
			      .attr = 0x9b };

	hvm->set_segment(vcpu, SEG_CS, &cs);
	vcpu->regs.rip = 0;
}

void startup_step(struct vcpu *vcpu)
{
	u32 state = __atomic_load_n(&vcpu->startup, __ATOMIC_ACQUIRE), next = STARTUP_WAIT;

	if (state == STARTUP_WAIT) {
		host_cpu_wait();
		return;
	}
	/* A machine's boot CPU would run its firmware again, and there is none. */
	if (vcpu->id == 0) {
		vm_tell(vcpu->vm, "vcpu0: INIT sent to the boot CPU");
		vcpu_die(vcpu, VM_END_CRASH);
		return;
	}
	init_state(vcpu);
	if (state & STARTUP_SIPI) {
		start_at(vcpu, (u8)state);
		next = STARTUP_RUN;
	}
	/* When it changed meanwhile, that is the next step. */
	__atomic_compare_exchange_n(&vcpu->startup, &state, next, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}
