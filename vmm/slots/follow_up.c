/* SPDX-License-Identifier: GPL-2.0-only */
/* See follow_up.h. */
#include "vmm/slots/follow_up.h"

static enum vm_ending ending(enum vm_end end, u32 status)
{
	if (end == VM_END_POWEROFF || (end == VM_END_EXIT && !status))
		return ENDING_POWEROFF;
	return end == VM_END_RESET_ACPI || end == VM_END_RESET_KBD || end == VM_END_RESET_CF9
		       ? ENDING_REBOOT
		       : ENDING_CRASH;
}

bool vm_ended_well(enum vm_end end, u32 status)
{
	return end == VM_END_STOPPED || end == VM_END_ANEW || ending(end, status) != ENDING_CRASH;
}

enum vm_then vm_follow_up(const struct vm_config *c, enum vm_end end, u32 status)
{
	if (IS_ENABLED(CONFIG_IOMMU) && end == VM_END_FAULT)
		return c->on_fault == ON_FAULT_RESTART ? THEN_RESTART : THEN_STOP;
	if (IS_ENABLED(CONFIG_MACHINE_CHECKS) && end == VM_END_MACHINE_CHECK && c->line_mce &&
	    c->on_mce != ON_MCE_INJECT)
		return c->on_mce == ON_MCE_RESTART ? THEN_RESTART : THEN_STOP;
	if (IS_ENABLED(CONFIG_VM_TSC_ONLY) && end == VM_END_ANEW)
		return THEN_RESTART;
	if (end == VM_END_STOPPED)
		return THEN_STOP;
	return c->then[IS_ENABLED(CONFIG_VM_FOLLOW_UP) ? ending(end, status) : 0];
}

bool vm_ever_restarts(const struct vm_config *c)
{
	return c->then[ENDING_POWEROFF] == THEN_RESTART || c->then[ENDING_REBOOT] == THEN_RESTART ||
	       c->then[ENDING_CRASH] == THEN_RESTART ||
	       (IS_ENABLED(CONFIG_IOMMU) && c->on_fault == ON_FAULT_RESTART) ||
	       (IS_ENABLED(CONFIG_MACHINE_CHECKS) && c->on_mce == ON_MCE_RESTART);
}
