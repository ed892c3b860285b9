/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: what second-level tables say of an address (see stage2.h). */
#include "arch/x86_64/stage2/stage2.h"

u64 stage2_find(const struct stage2 *s, u64 gpa, struct stage2_part *out)
{
	const u64 *table = s->root;

	for (unsigned level = STAGE2_LEVELS - 1;; level--) {
		unsigned shift = PAGE_SHIFT + 9 * level;
		u64 e = table[gpa >> shift & 511], offset = gpa & (BIT(shift) - 1);

		*out = (struct stage2_part){ .mapped = s->fmt->present(e) };
		if (out->mapped && level && !(level <= LEAF_1G && e & PTE_PS)) {
			table = s->mem->to_virt(e & PTE_ADDR);
			continue;
		}
		if (out->mapped) {
			out->type = s->fmt->type(e);
			out->hpa = (e & PTE_ADDR & ~(BIT(shift) - 1)) + offset;
		}
		return BIT(shift) - offset;
	}
}
