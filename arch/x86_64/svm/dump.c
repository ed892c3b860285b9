/* SPDX-License-Identifier: GPL-2.0-only */
/* What the VMCB (APM vol. 2, tables B-1 and B-2) says, into the log. */
#include "arch/x86_64/svm/svm.h"
#include "vmm/vm.h"

void svm_dump(struct vcpu *vcpu)
{
	static const char *const name[] = { "ES", "CS", "SS", "DS", "FS", "GS", "LDTR", "TR" };
	const struct vmcb *v = svm_vcpu(vcpu)->vmcb;

	vm_log(vcpu->vm, "VMCB: exit %#llx info1 %#llx info2 %#llx int-info %#llx", (unsigned long long)v->exit_code,
	       (unsigned long long)v->exit_info1, (unsigned long long)v->exit_info2, (unsigned long long)v->exit_int_info);
	vm_log(vcpu->vm, "VMCB: CR0 %#llx CR3 %#llx CR4 %#llx EFER %#llx RFLAGS %#llx CPL %u", (unsigned long long)v->cr0,
	       (unsigned long long)v->cr3, (unsigned long long)v->cr4, (unsigned long long)v->efer,
	       (unsigned long long)v->rflags, v->cpl);
	for (enum seg seg = SEG_ES; seg < SEG_COUNT; seg++) {
		struct segment s;

		svm_get_segment(vcpu, seg, &s);
		vm_log(vcpu->vm, "VMCB: %-4s %04x base %#llx limit %#x attributes %#x", name[seg], s.selector,
		       (unsigned long long)s.base, s.limit, s.attr);
	}
}
