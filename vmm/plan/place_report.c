/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VM has what of the machine, for those who tell the operator (place.h). */
#include "vmm/plan/place.h"

#include <margay/string.h>

#include "vmm/vm.h"

bool place_owner(unsigned cpu, char *name)
{
	const struct vm *vm;

	spin_lock(&place_lock);
	vm = cpu < PLAN_CPUS ? place_owners[cpu] : NULL;
	if (vm)
		memcpy(name, vm->name, sizeof(vm->name));
	spin_unlock(&place_lock);
	return vm;
}

u64 place_memory(unsigned cpu, unsigned node, char *name)
{
	const struct vm *vm;
	u64 sum = 0;

	spin_lock(&place_lock);
	vm = cpu < PLAN_CPUS ? place_owners[cpu] : NULL;
	/* Each VM once, by its first CPU. */
	if (vm && vm->host_cpu[0] == cpu) {
		memcpy(name, vm->name, sizeof(vm->name));
		for (unsigned i = 0; i < vm->nr_extents; i++)
			sum += vm->extent[i].node == (int)node ? vm->extent[i].size : 0;
	}
	spin_unlock(&place_lock);
	return sum;
}
