/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a VM's kernel by which it cannot have interrupts = direct
 * (vmm/config/config_direct.c).
 */
#include "vmm/load/linux_built.h"
#include "vmm/load/multiboot.h"
#include "vmm/stage.h"
#include "vmm/vm.h"

static unsigned facts_of(const struct host_module *kernel)
{
	unsigned without;

	if (multiboot_is_kernel(kernel->data, kernel->size))
		return DIRECT_MULTIBOOT;
	without = linux_built_without(kernel->data, kernel->size);
	return (without & LINUX_BUILT_NO_KVM_GUEST ? DIRECT_NO_KVM_GUEST : 0) |
	       (without & LINUX_BUILT_NO_X2APIC ? DIRECT_XAPIC_KERNEL : 0);
}

static int facts_vm_create(struct vm *vm)
{
	if (vm->config->interrupts != VM_INTERRUPTS_EMULATED)
		vm->kernel_facts = facts_of(vm_find_module(vm->config->kernel));
	return 0;
}

static const struct vm_stage facts_stage = { .at = STAGE_KERNEL, .create = facts_vm_create };
VM_STAGE(facts_stage);
