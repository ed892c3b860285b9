/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs of a VM that is given up. */
#include "vmm/plan/place.h"
#include "vmm/stage.h"
#include "vmm/vm.h"

/*
 * Those that do not answer stay its own; where its guest might still send interrupts to any, all
 * do.
 */
static void abandon_cpus(struct vm *vm)
{
	spin_lock(&place_lock);
	for (unsigned i = 0; !vm_still_sends(vm) && i < vm->nr_host_cpus; i++)
		if (host_cpu_info(vm->host_cpu[i])->online)
			place_owners[vm->host_cpu[i]] = NULL;
	spin_unlock(&place_lock);
}
VM_ABANDON(ABANDON_CPUS, abandon_cpus);
