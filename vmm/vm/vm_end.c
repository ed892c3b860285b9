/* SPDX-License-Identifier: GPL-2.0-only */
/* See vm_end.h. */
#include "vmm/vm_end.h"

#include "vmm/vcpu.h"
#include "vmm/vm.h"

static const char *const end_name[] = {
	[VM_RUNNING] = "running",
	[VM_END_POWEROFF] = "poweroff",
	[VM_END_RESET_ACPI] = "reset-acpi",
	[VM_END_RESET_KBD] = "reset-kbd",
	[VM_END_RESET_CF9] = "reset-cf9",
	[VM_END_TRIPLE_FAULT] = "triple-fault",
	[VM_END_PANICKED] = "panicked",
	[VM_END_WATCHDOG] = "watchdog",
	[VM_END_MACHINE_CHECK] = IS_ENABLED(CONFIG_MACHINE_CHECKS) ? "machine-check" : NULL,
	[VM_END_FAULT] = IS_ENABLED(CONFIG_IOMMU) ? "blocked" : NULL,
	[VM_END_ANEW] = IS_ENABLED(CONFIG_VM_TSC_ONLY) ? "anew" : NULL,
	[VM_END_EXIT] = "exit",
	[VM_END_CRASH] = "crash",
	[VM_END_STOPPED] = "stopped",
};

const char *vm_end_name(enum vm_end why)
{
	return end_name[why];
}

static bool has_died(const struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		if (vm->vcpus[i]->died)
			return true;
	return false;
}

/* on_crash = dump: is such an end none? The VM stays as it is then, paused, for who reads it. */
static bool keeps(struct vm *vm, enum vm_end why)
{
	/* What cannot start, or has lost a CPU, perhaps since, is VM_END_CRASH, too. */
	if (vm->config->then[ENDING_CRASH] != THEN_DUMP || vm->end != VM_RUNNING ||
	    (why != VM_END_PANICKED && why != VM_END_TRIPLE_FAULT && why != VM_END_WATCHDOG &&
	     (why != VM_END_CRASH || vm->kept || !has_died(vm))))
		return false;
	if (!vm->kept)
		vm_tell(vm, "has crashed (%s): it is kept for its dump; stop or restart it then",
			vm_end_name(why));
	return true;
}

bool vm_end(struct vm *vm, enum vm_end why)
{
	enum vm_end none = VM_RUNNING, *end = IS_ENABLED(CONFIG_MANAGEMENT_VM) && keeps(vm, why)
						      ? &vm->kept
						      : &vm->end;
	bool first = __atomic_compare_exchange_n(end, &none, why, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		vcpu_kick(vm->vcpus[i]);
	return first;
}

void vm_exit(struct vm *vm, u32 status)
{
	u64 none = 0;

	__atomic_compare_exchange_n(&vm->exit_status, &none, BIT(32) | status, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	vm_end(vm, VM_END_EXIT);
}
