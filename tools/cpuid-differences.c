/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of documented differences between the host's CPUID and a guest's, from the policy's tables. */
#include "vmm/cpuid/cpuid_table.h"

static const struct cpuid_row *row(unsigned i)
{
	if (i < cpuid_rows_basic_count)
		return &cpuid_rows_basic[i];
	i -= cpuid_rows_basic_count;
	return i < cpuid_rows_ext_count ? &cpuid_rows_ext[i] : NULL;
}

bool cpuid_policy_documented_hidden(unsigned i, struct cpuid_difference *out)
{
	static const char *const change[] = {
		[SHOW] = "conditional", [HIDE] = "hidden", [FORCE] = "forced on", [DYNAMIC] = "dynamic",
	};
	static const char *const reg[] = { "EAX", "EBX", "ECX", "EDX" };
	const struct cpuid_row *r;

	for (unsigned k = 0; (r = row(k)); k++) {
		if (!r->reason || i--)
			continue;
		*out = (struct cpuid_difference){ cpuid_row_leaf(r), r->subleaf, reg[r->reg], r->bit, r->name,
						  change[r->rule], r->reason };
		return true;
	}
	if (i >= cpuid_hidden_leaves_count)
		return false;
	*out = (struct cpuid_difference){ cpuid_hidden_leaves[i].leaf, 0, NULL, 0, cpuid_hidden_leaves[i].name, "hidden",
					  cpuid_hidden_leaves[i].reason };
	return true;
}
