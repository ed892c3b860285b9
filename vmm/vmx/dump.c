/* SPDX-License-Identifier: GPL-2.0-only */
/* What the current VMCS (SDM vol. 3, appendix B) says, into the log. */
#include "vmm/vm.h"
#include "vmm/vmx/vmx.h"

void vmx_dump(struct vcpu *vcpu)
{
	static const struct {
		const char *name;
		u16 field;
	} row[] = {
		{ "exit reason", VMCS_EXIT_REASON },
		{ "qualification", VMCS_EXIT_QUALIFICATION },
		{ "instruction error", VMCS_INSTRUCTION_ERROR },
		{ "guest-physical address", VMCS_GUEST_PHYSICAL_ADDRESS },
		{ "CR0", VMCS_GUEST_CR0 },
		{ "CR3", VMCS_GUEST_CR3 },
		{ "CR4", VMCS_GUEST_CR4 },
		{ "EFER", VMCS_GUEST_EFER },
		{ "RFLAGS", VMCS_GUEST_RFLAGS },
		{ "RSP", VMCS_GUEST_RSP },
		{ "entry controls", VMCS_ENTRY_CONTROLS },
		{ "entry event", VMCS_ENTRY_INTR_INFO },
		{ "interruptibility", VMCS_GUEST_INTERRUPTIBILITY },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(row); i++)
		vm_tell(vcpu->vm, "VMCS: %s %#lx", row[i].name, vmread(row[i].field));
}
