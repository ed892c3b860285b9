/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a VM that few files need to know, in the same memory right behind what all know of
 * it.
 */
#ifndef VMM_VM_PARTS_H
#define VMM_VM_PARTS_H

#include "arch/x86_64/stage2/stage2.h"
#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/memory/gpa_map.h"
#include "vmm/memory/mtrr.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"

struct vm_parts {
	struct vm vm;
	struct stage2 stage2; /* guarded by vm_stage2_lock() once vCPUs run */
	/* what its PCI functions reach, guarded likewise; NULL: everything, or it has none */
	struct host_iommu *domain;
	struct gpa_map map;
	struct cpuid_table cpuid;
	struct mtrr_state mtrr;
	struct vm_ranges ranges; /* of its devices */
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
	unsigned from = IS_ENABLED(CONFIG_OPTIMIZE_SIZE) ? 0 : all->pio_from[port / PIO_BLOCK];

	if (from == PIO_NONE)
		return NULL;
	for (const struct pio_range *r = &all->pio[from]; r < end && r->base <= port; r++)
		if (port - r->base < r->count)
			return r;
	return NULL;
}

/*
 * The range that holds all of the access, and where in it. Another vCPU may move it by
 * vm_set_mmio(): each field is read once.
 */
static inline const struct mmio_range *mmio_find(const struct vm *vm, u64 addr, unsigned size,
						 u64 *offset)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;
	const struct mmio_range *end = all->mmio + all->nr_mmio;

	for (const struct mmio_range *r = all->mmio; r < end; r++) {
		u64 length = __atomic_load_n(&r->size, __ATOMIC_ACQUIRE);

		*offset = addr - __atomic_load_n(&r->base, __ATOMIC_ACQUIRE);
		if (*offset < length)
			return size <= length - *offset ? r : NULL;
	}
	return NULL;
}

/* The range of its devices that has the MSR, or NULL. */
static inline const struct msr_range *msr_find(const struct vm *vm, u32 msr)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;

	if (!IS_ENABLED(CONFIG_OPTIMIZE_SIZE) &&
	    msr - MSR_X2APIC_FIRST <= MSR_X2APIC_LAST - MSR_X2APIC_FIRST)
		return all->x2apic;
	for (const struct msr_range *r = all->msr; r < &all->msr[all->nr_msr]; r++)
		if (msr - r->first <= r->last - r->first)
			return r;
	return NULL;
}

#endif
