/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of documented differences between the host's CPUID and a guest's, from the policy's tables. */
#include "vmm/cpuid/cpuid_table.h"

/* Leaves that are zero although the host has them; feature bits that point to them are hidden by the tables. */
static const struct {
	u32 leaf;
	const char *name;
	const char *reason;
} hidden_leaves[] = {
	{ 3, "processor serial number", "a VM has none" },
	{ 5, "MONITOR/MWAIT", R_MWAIT },
	{ 9, "direct cache access", R_FIRMWARE },
	{ 0xa, "architectural performance monitoring", "with `counters = yes` version 2 of it, else nothing" },
	{ 0xf, "resource director monitoring", R_RDT },
	{ 0x10, "resource director allocation", R_RDT },
	{ 0x12, "SGX", "enclave memory is not given to guests" },
	{ 0x14, "processor trace", "traces to host-physical addresses; its MSRs are not switched" },
	{ 0x17, "SoC vendor", R_FIRMWARE },
	{ 0x19, "Key Locker", "Key Locker keys cannot be switched" },
	{ 0x1b, "PCONFIG", "memory encryption keys are the host's" },
	{ 0x1c, "last branch records", R_PMU },
	{ 0x20, "processor history reset", "its MSR is not offered" },
	{ 0x21, "TDX", R_NESTED },
	{ 0x23, "architectural performance monitoring, extended", R_PMU },
	{ 0x27, "asymmetric resource director monitoring", R_RDT },
	{ 0x28, "asymmetric resource director allocation", R_RDT },
	{ 0x29, "APX", "its registers are not switched and REX2 is not decoded" },
	{ 0x8000000a, "SVM", R_NESTED },
	{ 0x8000001b, "instruction-based sampling", R_PMU },
	{ 0x8000001c, "lightweight profiling", R_PMU },
	{ 0x8000001f, "memory encryption", "memory encryption keys are the host's" },
	{ 0x80000020, "platform quality of service", R_RDT },
	{ 0x80000022, "performance monitoring version 2", R_PMU },
	{ 0x80000023, "multi-key memory encryption", "memory encryption keys are the host's" },
	{ 0x80000025, "segmented RMP of encrypted VMs", "memory encryption keys are the host's" },
	{ 0x80000026, "extended CPU topology", "the topology is told by leaves 0xB and 0x8000001E" },
	{ 0x80000027, "workload classification", R_POWER },
};

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
	if (i >= ARRAY_SIZE(hidden_leaves))
		return false;
	*out = (struct cpuid_difference){ hidden_leaves[i].leaf, 0, NULL, 0, hidden_leaves[i].name, "hidden",
					  hidden_leaves[i].reason };
	return true;
}
