/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the guest's virtual MTRRs. Enabled, default WB, UC over the
 * MMIO hole; read back what was written; no effect on the real memory types
 * (Linux disables PAT when MTRRs are off).
 */
#ifndef VMM_MTRR_H
#define VMM_MTRR_H

#include <margay/x86.h>

#define MTRR_VARIABLE 8
#define MTRR_FIXED 11

struct mtrr_state {
	u64 def_type;
	u64 base[MTRR_VARIABLE];
	u64 mask[MTRR_VARIABLE];
	u64 fixed[MTRR_FIXED];
};

/*
 * Power-on as a firmware would leave it: [uc_start, uc_end) uncacheable, a power-of-two sized,
 * aligned range.
 */
void mtrr_reset(struct mtrr_state *m, u64 uc_start, u64 uc_end, unsigned phys_bits);

/* 0, or -EFAULT for #GP: not ours, reserved bits, an invalid type, or a write to MTRRCAP. */
int mtrr_read(const struct mtrr_state *m, u32 msr, u64 *value);
int mtrr_write(struct mtrr_state *m, u32 msr, u64 value, unsigned phys_bits);

/* Is this a legal value of IA32_PAT (each byte UC, WC, WT, WP, WB or UC-)? */
bool pat_valid(u64 value);

#endif
