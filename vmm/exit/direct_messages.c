/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes by messages that a guest sends by its CPUs' own ICR (ipi = direct): INIT and NMI. */
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/vm.h"
#include "vmm/vm/power_on.h"
#include "vmm/vm/startup.h"

void exit_init(struct vcpu *vcpu, const struct vmexit *)
{
	/* One that was pending before the first instruction behind a SIPI is older than that. */
	if (vcpu->regs.rip && __atomic_load_n(&vcpu->vm->icrs_used, __ATOMIC_RELAXED))
		vcpu_init_ipi(vcpu);
}

void direct_take_init(struct vcpu *vcpu)
{
	struct vmexit exit;

	/*
	 * VT-x keeps one till the next entry, or till VMXOFF, where it would restart the CPU (SDM
	 * vol. 3, 23.8).
	 */
	vcpu_power_on(vcpu);
	vcpu->event.type = HVM_EVENT_NONE;
	do {
		if (host_cpu_kicked())
			host_interrupt_window();
		hvm->request_nmi_window(vcpu);
		hvm->run(vcpu, &exit);
	} while (exit.reason == VMEXIT_KICKED);
}

bool vcpu_nmi(struct host_work *work)
{
	struct vcpu *vcpu = container_of(work, struct vcpu, work);

	if (!__atomic_load_n(&vcpu->vm->icrs_used, __ATOMIC_RELAXED))
		return false;
	vcpu->nmi_pending = true;
	vcpu_look(vcpu);
	return true;
}
