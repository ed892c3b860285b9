/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a VM may own the local APICs of its CPUs (interrupts = direct): what the VM file's parser cannot know of it. */
#include <margay/errno.h>

#include "vmm/vm.h"

#define CPUID_1_ECX_X2APIC BIT(21)

int direct_check(struct vm *vm, struct config_error *err)
{
	const struct vm_config *c = vm->config;
	struct cpuid_regs r;

	if (c->interrupts != VM_INTERRUPTS_DIRECT)
		return 0;
	host_cpuid(1, 0, &r);
	if (!(r.ecx & CPUID_1_ECX_X2APIC))
		return vm_config_error(err, c->file, c->line_direct, "interrupts = direct: the CPUs have no x2APIC mode: use "
				       "emulated");
	vm->direct = true;
	vm_note(vm, "interrupts: direct");
	return 0;
}
