/* SPDX-License-Identifier: GPL-2.0-only */
/* What the VMCB (APM vol. 2, tables B-1 and B-2) says, into the log. */
#include "vmm/svm/svm.h"
#include "vmm/vm.h"

void svm_dump(struct vcpu *vcpu)
{
	const struct vmcb *v = svm_vcpu(vcpu)->vmcb;

	vm_tell(vcpu->vm, "VMCB: exit %#lx info1 %#lx info2 %#lx int-info %#lx", v->exit_code,
		v->exit_info1, v->exit_info2, v->exit_int_info);
	vm_tell(vcpu->vm, "VMCB: CR0 %#lx CR3 %#lx CR4 %#lx EFER %#lx RFLAGS %#lx CPL %u", v->cr0,
		v->cr3, v->cr4, v->efer, v->rflags, v->cpl);
}
