/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the words of mitigations.h, on the command line and in the log. */
#include <margay/string.h>

#include "arch/x86_64/cpu/mitigations.h"

#define B(bug) BIT(BUG_##bug)

static const struct {
	const char *name;
	u32 flags;
} names[] = {
	{ "spec_ctrl", MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS },
	{ "ibpb_exit", MIT_IBPB_EXIT },
	{ "rsb_one", MIT_RSB_ONE },
	{ "rsb", MIT_RSB },
	{ "bhb", MIT_BHB },
	{ "thunks", MIT_THUNKS },
	{ "divider", MIT_DIVIDER },
	{ "verw", MIT_VERW },
	{ "l1d_flush", MIT_L1D_FLUSH },
	{ "split", MIT_SPLIT },
};

bool mitigations_parse(struct span value, u32 *forced, bool *off)
{
	bool none = span_is(value, "off"), more = !none && !span_is(value, "auto");
	u32 flags = 0;

	while (more) {
		struct span word = span_part(&value, ',', &more);
		unsigned i = 0;

		while (i < ARRAY_SIZE(names) && !span_is(word, names[i].name))
			i++;
		if (i == ARRAY_SIZE(names))
			return false;
		flags |= names[i].flags;
	}
	*forced = flags;
	*off = none;
	return true;
}

u32 mitigations_force(struct mitigations *m, u32 forced, bool off)
{
	if (off)
		m->flags = m->spec_ctrl = 0;
	m->flags |= forced & m->can;
	return forced & ~m->can;
}

const char *mitigation_name(u32 flags)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & names[i].flags)
			return names[i].name;
	return "";
}

/* clang-format off */
static const char *const bug_names[CPU_BUGS] = {
	"spectre_v2", "bhi", "retbleed", "spec_rstack_overflow", "indirect_target_selection", "mds",
	"tsx_async_abort",
	"mmio_stale_data", "reg_file_data_sampling", "tsa", "l1tf", "gather_data_sampling", "srbds",
	"itlb_multihit", "zenbleed",
	"div0", "smt_rsb",
};
/* clang-format on */

/* Not against the core's other thread, while that runs the guest. */
#define SMT_BUGS (B(MDS) | B(TAA) | B(MMIO) | B(TSA) | B(L1TF) | B(DIV0))

/* What is done against a bug: the first of which all flags are set. */
static const struct {
	u32 bugs;
	u32 flags;
	const char *how;
} ways[] = {
	{ B(SPECTRE_V2) | B(RETBLEED), MIT_SPEC_CTRL | MIT_EIBRS, "Enhanced IBRS" },
	{ B(SPECTRE_V2), MIT_AUTO_IBRS, "Automatic IBRS" },
	{ B(SPECTRE_V2) | B(RETBLEED) | B(SRSO), MIT_IBPB_EXIT, "IBPB on VMEXIT" },
	{ B(SPECTRE_V2) | B(RETBLEED), MIT_SPEC_CTRL | MIT_SPEC_CTRL_ALWAYS | MIT_RSB,
	  "IBRS; RSB filling" },
	{ B(SPECTRE_V2) | B(ITS), MIT_THUNKS | MIT_RSB, "Retpolines; RSB filling" },
	{ B(BHI), MIT_SPEC_CTRL | MIT_BHI_DIS_S, "BHI_DIS_S" },
	{ B(BHI), MIT_BHB, "SW loop" },
	{ B(SRSO), MIT_BP_SPEC_REDUCE, "Reduced Speculation" },
	{ B(MDS) | B(TAA) | B(MMIO) | B(TSA), MIT_VERW, "Clear CPU buffers" },
	{ B(MDS) | B(TAA) | B(MMIO), MIT_L1D_FLUSH, "Clear CPU buffers" },
	{ B(MMIO), MIT_VERW_DEVICES, "Clear CPU buffers" },
	{ B(RFDS), MIT_VERW, "Clear Register File" },
	{ B(L1TF), MIT_L1D_FLUSH, "VMX: cache flushes" },
	{ B(GDS) | B(SRBDS), MIT_MCU_OPT, "Microcode" },
	{ B(ITLB), MIT_SPLIT, "Split huge pages" },
	{ B(ZENBLEED), MIT_ZENBLEED, "FP backup fix" },
	{ B(DIV0), MIT_DIVIDER, "Division before VM entry" },
	{ B(SMT_RSB), MIT_RSB, "RSB filling" },
};

bool mitigation_line(const struct mitigations *m, enum cpu_bug bug, bool off, char *out,
		     size_t size)
{
	const char *how = NULL, *but = "";

	if (!(m->affected & BIT(bug))) {
		snprintf(out, size, "%s: Not affected", bug_names[bug]);
		return false;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(ways) && !how; i++)
		if (ways[i].bugs & BIT(bug) && (m->flags & ways[i].flags) == ways[i].flags)
			how = ways[i].flags & ~m->done ? "" : ways[i].how;
	if (how && *how && !(m->open & BIT(bug))) {
		if (m->smt && SMT_BUGS & BIT(bug))
			but = "; SMT vulnerable";
		else if (bug == BUG_SMT_RSB)
			but = "; interrupts = direct vulnerable";
		snprintf(out, size, "%s: Mitigation: %s%s", bug_names[bug], how, but);
		return false;
	}
	how = off ? "mitigate=off" : "not mitigated by this version";
	if (m->open & BIT(bug))
		how = "no microcode";
	snprintf(out, size, "%s: Vulnerable: %s", bug_names[bug], how);
	return true;
}
