/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a VM that few files need to know, in the same memory right behind what all know of it. */
#ifndef VMM_VM_PARTS_H
#define VMM_VM_PARTS_H

#include "arch/x86_64/stage2/stage2.h"
#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/memory/gpa_map.h"
#include "vmm/memory/mtrr.h"
#include "vmm/ranges.h"
#include "vmm/vm.h"

struct vm_parts {
	struct vm vm;
	struct stage2 stage2;     /* guarded by vm.stage2_lock once vCPUs run */
	struct gpa_map map;
	struct cpuid_table cpuid;
	struct mtrr_state mtrr;
	struct vm_ranges ranges;  /* of its devices */
};

/* Every struct vm is one of these. */
static inline struct vm_parts *vm_parts(const struct vm *vm)
{
	return container_of(vm, struct vm_parts, vm);
}

/* The range of its devices that has the port, or NULL. */
static inline const struct pio_range *pio_find(const struct vm *vm, u16 port)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;
	const struct pio_range *end = &all->pio[all->nr_pio];

	for (const struct pio_range *r = &all->pio[all->pio_from[port / PIO_BLOCK]]; r < end && r->base <= port; r++)
		if (port - r->base < r->count)
			return r;
	return NULL;
}

#endif
