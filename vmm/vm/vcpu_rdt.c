/* SPDX-License-Identifier: GPL-2.0-only */
/* A vCPU's CPU works with its VM's shares of caches and memory bandwidth. */
#include <margay/host_rdt.h>

#include "vmm/stage.h"
#include "vmm/vcpu.h"

static void rdt_enter(struct vcpu *vcpu)
{
	host_rdt_enter(vcpu->vm);
}

static void rdt_leave(struct vcpu *vcpu)
{
	host_rdt_leave(vcpu->vm);
}

static const struct vcpu_stage rdt_stage = {
	.at = VCPU_RDT, .on = { [VCPU_STARTS] = rdt_enter, [VCPU_STOPS] = rdt_leave }
};
VCPU_STAGE(rdt_stage);
