/* SPDX-License-Identifier: GPL-2.0-only */
/* What has a vCPU look at what others have changed, wherever it is. */
#include <margay/host.h>

#include "vmm/vcpu.h"

void vcpu_kick(struct vcpu *vcpu)
{
	unsigned this = host_cpu_this();

	vcpu_look(vcpu);
	if (vcpu->cpu != this)
		host_cpu_kick(vcpu->cpu);
}
