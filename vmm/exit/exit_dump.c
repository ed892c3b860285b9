/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of a vCPU that cannot go on, in lines of the log. */
#include "vmm/exit/exit.h"

#include "vmm/hvm.h"
#include "vmm/vm.h"

void exit_dump(struct vcpu *vcpu)
{
	static const char *const name[] = { "ES", "CS", "SS", "DS", "FS", "GS", "LDTR", "TR" };

	hvm->dump(vcpu);
	for (enum seg seg = SEG_ES; seg < SEG_COUNT; seg++) {
		struct segment s;

		hvm->get_segment(vcpu, seg, &s);
		vm_tell(vcpu->vm, "%-4s %04x base %#lx limit %#x attributes %#x", name[seg],
			s.selector, s.base, s.limit, s.attr);
	}
}
