/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a VM may own the local APICs of its CPUs (interrupts = direct), and what keeps it from that. */
#include <margay/errno.h>

#include "vmm/vm.h"

#define CPUID_1_ECX_X2APIC BIT(21)

/* NULL: nothing. */
static const char *obstacle(const struct vm_config *c)
{
	struct cpuid_regs r;

	host_cpuid(1, 0, &r);
	if (!(r.ecx & CPUID_1_ECX_X2APIC))
		return "the CPUs have no x2APIC mode";
	if (c->flat)
		return "topology = flat has other APIC IDs than the CPUs";
	if (c->clock == VM_CLOCK_FREEZE)
		return "clock = freeze cannot stop the CPUs' own timers";
	if (c->smt_sharing)
		return "allow_smt_sharing lets others use its cores";
	return NULL;
}

int direct_check(struct vm *vm, struct config_error *err)
{
	const struct vm_config *c = vm->config;
	const char *why = obstacle(c);

	if (c->interrupts != VM_INTERRUPTS_DIRECT)
		return 0;
	if (why)
		return vm_config_error(err, c->file, c->line_direct, "interrupts = direct: %s: use emulated", why);
	vm->direct = true;
	vm_note(vm, "interrupts: direct");
	return 0;
}
