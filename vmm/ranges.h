/* SPDX-License-Identifier: GPL-2.0-only */
/* The port ranges of a VM's devices: sorted, and found by their 256 ports at once. */
#ifndef VMM_RANGES_H
#define VMM_RANGES_H

#include "vmm/vm.h"

/* Adds a range to vm->pio, where there is room and none that overlaps. Before any vCPU runs. */
static inline void pio_add(struct vm *vm, struct pio_range range)
{
	unsigned i = vm->nr_pio++;

	for (; i && vm->pio[i - 1].base > range.base; i--)
		vm->pio[i] = vm->pio[i - 1];
	vm->pio[i] = range;
	/* Where size matters, the search begins at the first. */
	for (unsigned block = 0; !IS_ENABLED(CONFIG_OPTIMIZE_SIZE) && block < PIO_BLOCKS; block++) {
		for (i = 0; i < vm->nr_pio && vm->pio[i].base + (unsigned)vm->pio[i].count <= block * PIO_BLOCK; i++)
			;
		vm->pio_from[block] = (u8)i;
	}
}

/* The range that has the port, or NULL. */
static inline const struct pio_range *pio_find(const struct vm *vm, u16 port)
{
	const struct pio_range *end = &vm->pio[vm->nr_pio];

	for (const struct pio_range *r = &vm->pio[vm->pio_from[port / PIO_BLOCK]]; r < end && r->base <= port; r++)
		if (port - r->base < r->count)
			return r;
	return NULL;
}

#endif
