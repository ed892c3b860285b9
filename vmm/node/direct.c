/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a VM owns the local APICs of its CPUs (interrupts = direct, auto): what is to be known of
 * the node.
 */
#include <margay/errno.h>
#include <margay/host.h>

#include "vmm/slots/slot.h"
#include "vmm/stage.h"
#include "vmm/vm.h"
#include "vmm/vm/debugger.h"

#define CPUID_1_ECX_X2APIC BIT(21)

int direct_decide(struct vm *vm)
{
	const struct vm_config *c = vm->config;
	bool reached = !vm->wide_ids || host_iommu_wide();
	unsigned facts = reached ? 0 : DIRECT_WIDE_IDS, row = 0;
	struct cpuid_regs r;
	const char *why;

	if (c->interrupts == VM_INTERRUPTS_EMULATED)
		return 0;
	host_cpuid(1, 0, &r);
	if (!(r.ecx & CPUID_1_ECX_X2APIC))
		facts |= DIRECT_NO_X2APIC;
	if (host_x2apic_off())
		facts |= DIRECT_X2APIC_OFF;
	facts |= vm->kernel_facts;
	if (monitor_slots[vm->id].without & LINUX_NO_X2APIC)
		facts |= DIRECT_LEAVES_X2APIC;
	if (debugger_on())
		facts |= DIRECT_GDB;
	if (!host_alarm())
		facts |= DIRECT_NO_ALARM;
	why = vm_config_not_direct(c, facts, &row);
	if (why && c->interrupts == VM_INTERRUPTS_DIRECT) {
		vm_refuse(vm, direct, VM_CONFIG_NOT_DIRECT, why);
		return -EINVAL;
	}
	vm->direct = !why;
	vm->mwait = host_mwait();
	vm->not_direct = why;
	return 0;
}

static const struct vm_stage direct_stage = { .at = STAGE_DIRECT, .create = direct_decide };
VM_STAGE(direct_stage);
