/* SPDX-License-Identifier: GPL-2.0-only */
/* The code page that a vCPU has fetched from: is it still where it was? For guest_fetch() and lean_mmio(). */
#ifndef VMM_GUEST_FETCHED_H
#define VMM_GUEST_FETCHED_H

#include "vmm/vcpu.h"

/* Once: another vCPU may change it at any time. */
static inline u64 read_entry(const void *entry, u8 size)
{
	return size == 8 ? __atomic_load_n((const u64 *)entry, __ATOMIC_RELAXED) :
			   __atomic_load_n((const u32 *)entry, __ATOMIC_RELAXED);
}

/* Does every entry of the path, of 8 bytes each, still say what it said? */
static inline bool guest_path_holds(const struct guest_path *path)
{
	const void *const *entry = path->entry;
	const u64 *value = path->value;

	return !((read_entry(entry[0], 8) ^ value[0]) | (read_entry(entry[1], 8) ^ value[1]) |
		 (read_entry(entry[2], 8) ^ value[2]) | (read_entry(entry[3], 8) ^ value[3]));
}

#endif
