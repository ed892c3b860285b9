/* SPDX-License-Identifier: GPL-2.0-only */
/* See vm_end.h. */
#include "vmm/vm_end.h"

#include "vmm/commander.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

static const char *const end_name[] = {
	[VM_RUNNING] = "running", [VM_END_POWEROFF] = "poweroff", [VM_END_RESET_ACPI] = "reset-acpi",
	[VM_END_RESET_KBD] = "reset-kbd", [VM_END_RESET_CF9] = "reset-cf9", [VM_END_TRIPLE_FAULT] = "triple-fault",
	[VM_END_PANICKED] = "panicked", [VM_END_WATCHDOG] = "watchdog",
	[VM_END_MACHINE_CHECK] = IS_ENABLED(CONFIG_MACHINE_CHECKS) ? "machine-check" : NULL,
	[VM_END_FAULT] = IS_ENABLED(CONFIG_IOMMU) ? "blocked" : NULL,
	[VM_END_ANEW] = IS_ENABLED(CONFIG_VM_TSC_ONLY) ? "anew" : NULL,
	[VM_END_EXIT] = "exit", [VM_END_CRASH] = "crash", [VM_END_STOPPED] = "stopped",
};

const char *vm_end_name(enum vm_end why)
{
	return end_name[why];
}

bool vm_end(struct vm *vm, enum vm_end why)
{
	enum vm_end none = VM_RUNNING, *end = IS_ENABLED(CONFIG_COMMANDER) && commander_keeps(vm, why) ? &vm->kept : &vm->end;
	bool first = __atomic_compare_exchange_n(end, &none, why, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		vcpu_kick(vm->vcpus[i]);
	return first;
}

void vm_exit(struct vm *vm, u32 status)
{
	u64 none = 0;

	__atomic_compare_exchange_n(&vm->exit_status, &none, BIT(32) | status, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	vm_end(vm, VM_END_EXIT);
}
