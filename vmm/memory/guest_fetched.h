/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code page that a vCPU has fetched from: is it still where it was? For guest_fetch() and
 * lean_mmio().
 */
#ifndef VMM_GUEST_FETCHED_H
#define VMM_GUEST_FETCHED_H

#include <margay/mc_access.h>

#include "vmm/vcpu.h"

/* Once: another vCPU may change it at any time. False: the machine has lost it. */
static inline bool read_entry(const void *entry, u8 size, u64 *value)
{
	u32 half;

	if (likely(size == 8))
		return mc_load64(entry, value);
	if (!mc_load32(entry, &half))
		return false;
	*value = half;
	return true;
}

/* Does every entry of the path, of 8 bytes each, still say what it said? */
static inline bool guest_path_holds(const struct guest_path *path)
{
	const void *const *entry = path->entry;
	const u64 *value = path->value;
	u64 a, b, c, d;

	return mc_load64(entry[0], &a) && mc_load64(entry[1], &b) && mc_load64(entry[2], &c) &&
	       mc_load64(entry[3], &d) &&
	       !((a ^ value[0]) | (b ^ value[1]) | (c ^ value[2]) | (d ^ value[3]));
}

/*
 * The INSN_MAX bytes of an instruction, by two loads: they are word[0], and of word[1] the lower
 * seven bytes. False: lost.
 */
static inline bool guest_code(const u8 *code, u64 word[2])
{
	u64 high;

	if (!mc_load64(code, &word[0]) || !mc_load64(code + INSN_MAX - sizeof(high), &high))
		return false;
	word[1] = high >> 8;
	return true;
}

#endif
