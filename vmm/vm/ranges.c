/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of the ranges that devices own. */
#include "vmm/vm/ranges.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/stage.h"
#include "vmm/vm_parts.h"

static int range_error(struct vm *vm, const char *kind, u64 base, int err)
{
	vm_tell(vm, "%s range at %#lx: %s", kind, base,
		err == -EEXIST ? "overlaps another device's" : "too many ranges in this build");
	return err;
}

/* The first range that each block of ports has something of. */
static void find_firsts(struct vm_ranges *all)
{
	unsigned i = 0;

	for (unsigned block = 0; block < PIO_BLOCKS; block++) {
		while (i < all->nr_pio &&
		       all->pio[i].base + (unsigned)all->pio[i].count <= block * PIO_BLOCK)
			i++;
		all->pio_from[block] =
			(u8)(i < all->nr_pio && all->pio[i].base < (block + 1) * PIO_BLOCK
				     ? i
				     : PIO_NONE);
	}
}

/* Where there is room and none that overlaps. */
static void pio_add(struct vm_ranges *all, struct pio_range range)
{
	unsigned i = all->nr_pio++;

	for (; i && all->pio[i - 1].base > range.base; i--)
		all->pio[i] = all->pio[i - 1];
	all->pio[i] = range;
	/* Where size matters, the search begins at the first. */
	if (!IS_ENABLED(CONFIG_OPTIMIZE_SIZE))
		find_firsts(all);
}

int vm_register_pio(struct vm *vm, u16 base, u16 count, const struct pio_ops *ops, void *dev)
{
	struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_pio; i++)
		if (ranges_meet(base, count, all->pio[i].base, all->pio[i].count))
			return range_error(vm, "port", base, -EEXIST);
	if (all->nr_pio == VM_MAX_PIO)
		return range_error(vm, "port", base, -ENOSPC);
	pio_add(all, (struct pio_range){ base, count, ops, dev });
	return 0;
}

#define MANY_PAGES \
	(unsigned)(ALIGN_UP(VM_MAX_MMIO * sizeof(struct mmio_range), PAGE_SIZE) / PAGE_SIZE)

/* No vCPU runs yet that could be looking. False: there is no room for more. */
static bool has_mmio_room(struct vm_ranges *all)
{
	struct mmio_range *many;

	if (!all->mmio)
		all->mmio = all->few;
	if (all->nr_mmio < VM_FEW_MMIO || !VM_MANY_MMIO || all->mmio != all->few)
		return all->nr_mmio < (all->mmio == all->few ? VM_FEW_MMIO : VM_MAX_MMIO);
	many = host_pages_alloc(MANY_PAGES, -1);
	if (!many)
		return false;
	memcpy(many, all->few, sizeof(all->few));
	all->mmio = many;
	return true;
}

static void ranges_vm_destroy(struct vm *vm)
{
	struct vm_ranges *all = &vm_parts(vm)->ranges;

	if (VM_MANY_MMIO && all->mmio != all->few)
		host_pages_free(all->mmio, MANY_PAGES);
}

static const struct vm_stage ranges_stage = { .at = STAGE_RANGES, .destroy = ranges_vm_destroy };
VM_STAGE(ranges_stage);

int vm_register_mmio(struct vm *vm, gpa_t base, u64 size, const struct mmio_ops *ops, void *dev)
{
	struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_mmio; i++)
		if (ranges_meet(base.v, size, all->mmio[i].base, all->mmio[i].size))
			return range_error(vm, "MMIO", base.v, -EEXIST);
	if (!has_mmio_room(all))
		return range_error(vm, "MMIO", base.v, -ENOSPC);
	all->mmio[all->nr_mmio++] = (struct mmio_range){ base.v, size, ops, dev };
	return 0;
}

void vm_set_mmio(struct vm *vm, const void *dev, u64 base, u64 size)
{
	struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_mmio; i++) {
		if (all->mmio[i].dev != dev)
			continue;
		__atomic_store_n(&all->mmio[i].size, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&all->mmio[i].base, base, __ATOMIC_RELEASE);
		__atomic_store_n(&all->mmio[i].size, size, __ATOMIC_RELEASE);
	}
}

int vm_register_msr(struct vm *vm, u32 first, u32 last, const struct msr_ops *ops, void *dev)
{
	struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_msr; i++)
		if (first <= all->msr[i].last && all->msr[i].first <= last)
			return range_error(vm, "MSR", first, -EEXIST);
	if (all->nr_msr == VM_MAX_MSR)
		return range_error(vm, "MSR", first, -ENOSPC);
	if (!IS_ENABLED(CONFIG_OPTIMIZE_SIZE) && first == MSR_X2APIC_FIRST)
		all->x2apic = &all->msr[all->nr_msr];
	all->msr[all->nr_msr++] = (struct msr_range){ first, last, ops, dev };
	return 0;
}
