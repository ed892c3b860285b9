/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IA32_TSC_ADJUST, which Linux reads each second when it goes idle: without an exit while the
 * guest's value is the CPU's.
 */
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"

void vcpu_open_tsc_adjust(struct vcpu *vcpu)
{
	u64 host;

	hvm->intercept_msr(vcpu, MSR_TSC_ADJUST,
			   host_rdmsr(MSR_TSC_ADJUST, &host) || host != vcpu->tsc_adjust, true);
}
