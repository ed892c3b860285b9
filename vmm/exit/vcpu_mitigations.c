/* SPDX-License-Identifier: GPL-2.0-only */
/* What a vCPU's exits and entries do against speculation: what its CPU needs, for this VM. */
#include "vmm/pci/vm_pci.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

static void take_mitigations(struct vcpu *vcpu)
{
	const struct vm *vm = vcpu->vm;
	struct host_mitigations m = host_mitigations(vcpu->cpu);

	if (vm->config->trusted)
		return;
	/* Only who reaches device registers itself finds there what they left in the buffers. */
	if (m.flags & MIT_VERW_DEVICES && vm_pci_has_functions(vm->pci))
		m.flags |= MIT_VERW;
	vcpu->mitigations = m.flags;
	vcpu->spec_ctrl = m.spec_ctrl;
}

u32 vcpu_first_spec_ctrl(const struct vcpu *vcpu)
{
	struct host_mitigations m = host_mitigations(vcpu->cpu);

	return vcpu->vm->config->trusted && m.flags & MIT_SPEC_CTRL ? 0 : m.spec_ctrl;
}

static const struct vcpu_stage mitigations_stage = { .at = VCPU_MITIGATIONS,
						     .on = { [VCPU_ENTERS] = take_mitigations } };
VCPU_STAGE(mitigations_stage);
