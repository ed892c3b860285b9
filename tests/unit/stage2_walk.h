/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests: walks second-level tables as the CPU does (SDM vol. 3, 29.3.2; APM vol. 2, 5.3). Page
 * size and address stand at the same bits in both formats; what else an entry says, its format
 * tells.
 */
#ifndef STAGE2_WALK_H
#define STAGE2_WALK_H

#include <margay/errno.h>

#include "arch/x86_64/stage2/stage2.h"

struct stage2_mapping {
	u64 hpa;
	enum stage2_leaf leaf;
	unsigned prot;
	enum memtype type;
};

/* Translates one address. 0 or -ENOENT. */
static inline int stage2_lookup(const struct stage2 *s, u64 gpa, struct stage2_mapping *out)
{
	const u64 *table = s->root;

	if (gpa >> 48)
		return -ENOENT;
	for (unsigned shift = 39, level = 3;; shift -= 9, level--) {
		u64 e = table[gpa >> shift & 511], offset = gpa & (BIT(shift) - 1);

		if (!s->fmt->present(e))
			return -ENOENT;
		if (level == 0 || (level < 3 && e & BIT(7))) {
			*out = (struct stage2_mapping){
				.hpa = (e & 0xffffffffff000 & ~(BIT(shift) - 1)) | offset,
				.leaf = level,
				.prot = s->fmt->prot(e),
				.type = s->fmt->type(e),
			};
			return 0;
		}
		table = s->mem->to_virt(e & 0xffffffffff000);
	}
}

#endif
