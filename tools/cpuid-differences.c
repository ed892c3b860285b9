/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list of documented differences between the host's CPUID and a guest's: from the policy's
 * tables, and the bits and leaves that no guest sees, with the reasons. The image has neither: what
 * the tables do not show is hidden.
 */
#include "vmm/cpuid/cpuid_table.h"

/* Reasons that several rows share. */
#define R_DS "the debug store would write to host memory past stage 2"
#define R_SGX "enclave memory is not given to guests"
#define R_CET "its shadow-stack and branch-tracking state is not switched"
#define R_MSR "its MSR is not offered"
#define R_FRED "FRED needs VMCS fields that are not used"
#define R_INVLPGB "TLB shootdown by broadcast would reach other VMs"
#define R_PMU "guests have plain performance counters at most"
#define R_POWER "power, frequency and heat are the host's"
#define R_NESTED "no nested virtualization"
#define R_FIRMWARE "a platform feature that only firmware and chip set use"
#define R_RDT "caches and memory bandwidth are divided by the host"

#define HIDDEN(leaf_, subleaf_, reg_, bit_, name_, reason_) \
	{ leaf_, subleaf_, reg_, bit_, HIDE, .name = name_, .reason = reason_ }

/* clang-format off */
const struct cpuid_row cpuid_rows_hidden[] = {
	HIDDEN(1, 0, CPUID_ECX, 2, "dtes64", R_DS),
	HIDDEN(1, 0, CPUID_ECX, 4, "ds_cpl", R_DS),
	HIDDEN(1, 0, CPUID_ECX, 5, "vmx", R_NESTED),
	HIDDEN(1, 0, CPUID_ECX, 6, "smx", "a measured launch would replace the hypervisor"),
	HIDDEN(1, 0, CPUID_ECX, 7, "est", R_POWER),
	HIDDEN(1, 0, CPUID_ECX, 8, "tm2", R_POWER),
	HIDDEN(1, 0, CPUID_ECX, 10, "cid", R_FIRMWARE),
	HIDDEN(1, 0, CPUID_ECX, 11, "sdbg", R_FIRMWARE),
	HIDDEN(1, 0, CPUID_ECX, 14, "xtpr", R_FIRMWARE),
	HIDDEN(1, 0, CPUID_ECX, 15, "pdcm", R_PMU),
	HIDDEN(1, 0, CPUID_ECX, 18, "dca", R_FIRMWARE),
	HIDDEN(1, 0, CPUID_EDX, 18, "pn", R_FIRMWARE),
	HIDDEN(1, 0, CPUID_EDX, 21, "dts", R_DS),
	HIDDEN(1, 0, CPUID_EDX, 22, "acpi", R_POWER),
	HIDDEN(1, 0, CPUID_EDX, 29, "tm", R_POWER),
	HIDDEN(1, 0, CPUID_EDX, 31, "pbe", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 0, "dtherm", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 1, "ida", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 4, "pln", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 5, "ecmd", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 6, "pts", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 7, "hwp", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 8, "hwp_notify", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 9, "hwp_act_window", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 10, "hwp_epp", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 11, "hwp_pkg_req", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 13, "hdc", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 14, "itbm3", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 15, "hwp_highest_change", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 16, "hwp_peci", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 17, "hwp_flexible", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 18, "hwp_fast_req", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 19, "hfi", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 20, "hwp_ignore_idle", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 22, "hwp_ctl", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 23, "thread_director", R_POWER),
	HIDDEN(6, 0, CPUID_EAX, 24, "therm_interrupt_hfi", R_POWER),
	HIDDEN(6, 0, CPUID_ECX, 0, "aperfmperf", R_POWER),
	HIDDEN(6, 0, CPUID_ECX, 1, "acnt2", R_POWER),
	HIDDEN(6, 0, CPUID_ECX, 3, "epb", R_POWER),
	HIDDEN(7, 0, CPUID_EBX, 2, "sgx", R_SGX),
	HIDDEN(7, 0, CPUID_EBX, 12, "cqm", R_RDT),
	HIDDEN(7, 0, CPUID_EBX, 14, "mpx",
	       "removed from CPUs and from Linux; BNDCFGS is not switched"),
	HIDDEN(7, 0, CPUID_EBX, 15, "rdt_a", R_RDT),
	HIDDEN(7, 0, CPUID_EBX, 25, "intel_pt",
	       "traces to host-physical addresses; its MSRs are not switched"),
	HIDDEN(7, 0, CPUID_ECX, 7, "shstk", R_CET),
	HIDDEN(7, 0, CPUID_ECX, 13, "tme", "memory encryption keys are the host's"),
	HIDDEN(7, 0, CPUID_ECX, 16, "la57",
	       "of no use while guest-physical addresses have at most 48 bits"),
	HIDDEN(7, 0, CPUID_ECX, 23, "aeskle", "Key Locker keys cannot be switched"),
	HIDDEN(7, 0, CPUID_ECX, 24, "bus_lock_detect", "DEBUGCTL is virtual and has no effect"),
	HIDDEN(7, 0, CPUID_ECX, 29, "enqcmd", "needs PASID translation, which a VM has not"),
	HIDDEN(7, 0, CPUID_ECX, 30, "sgx_lc", R_SGX),
	HIDDEN(7, 0, CPUID_ECX, 31, "pks", "IA32_PKRS is not switched"),
	HIDDEN(7, 0, CPUID_EDX, 1, "sgx_keys", R_SGX),
	HIDDEN(7, 0, CPUID_EDX, 5, "uintr",
	       "user interrupts need posted-interrupt state that is not switched"),
	HIDDEN(7, 0, CPUID_EDX, 9, "srbds_ctrl",
	       "IA32_MCU_OPT_CTRL is set for the whole core by the host"),
	HIDDEN(7, 0, CPUID_EDX, 13, "tsx_force_abort", R_PMU),
	HIDDEN(7, 0, CPUID_EDX, 18, "pconfig", "memory encryption keys are the host's"),
	HIDDEN(7, 0, CPUID_EDX, 19, "arch_lbr", R_PMU),
	HIDDEN(7, 0, CPUID_EDX, 20, "ibt", R_CET),
	HIDDEN(7, 0, CPUID_EDX, 30, "core_capabilities",
	       "split-lock detection is set for the whole core by the host"),
	HIDDEN(7, 1, CPUID_EAX, 6, "lass", "CR4.LASS is not offered"),
	HIDDEN(7, 1, CPUID_EAX, 8, "arch_perfmon_ext", R_PMU),
	HIDDEN(7, 1, CPUID_EAX, 17, "fred", R_FRED),
	HIDDEN(7, 1, CPUID_EAX, 18, "lkgs", R_FRED),
	HIDDEN(7, 1, CPUID_EAX, 19, "wrmsrns", R_FRED),
	HIDDEN(7, 1, CPUID_EAX, 20, "nmi_src", R_FRED),
	HIDDEN(7, 1, CPUID_EAX, 22, "hreset", R_MSR),
	HIDDEN(7, 1, CPUID_EAX, 26, "lam",
	       "CR3 and CR4 bits of linear-address masking are not offered"),
	HIDDEN(7, 1, CPUID_EAX, 27, "msrlist",
	       "one instruction would reach many MSRs past the MSR policy"),
	HIDDEN(7, 1, CPUID_EAX, 30, "invd_disable", R_FIRMWARE),
	HIDDEN(7, 1, CPUID_EBX, 0, "intel_ppin", "the processor's serial number is the host's"),
	HIDDEN(7, 1, CPUID_EBX, 1, "tse", "storage encryption keys are the host's"),
	HIDDEN(7, 1, CPUID_EBX, 3, "cpuid_maxval_lim_rmv",
	       "IA32_MISC_ENABLE is virtual and has no effect"),
	HIDDEN(7, 1, CPUID_ECX, 0, "asym_rdt_m", R_RDT),
	HIDDEN(7, 1, CPUID_ECX, 1, "asym_rdt_a", R_RDT),
	HIDDEN(7, 1, CPUID_ECX, 2, "legacy_reduced_isa", "a guest starts in legacy modes"),
	HIDDEN(7, 1, CPUID_ECX, 4, "sipi64", "the virtual APIC starts a CPU in real mode"),
	HIDDEN(7, 1, CPUID_ECX, 5, "msr_imm",
	       "immediate forms of RDMSR and WRMSRNS are not decoded"),
	HIDDEN(7, 1, CPUID_EDX, 13, "utmr", "the user timer's MSR is not switched"),
	HIDDEN(7, 1, CPUID_EDX, 15, "user_msr",
	       "user-mode MSR accesses would go past the MSR policy"),
	HIDDEN(7, 1, CPUID_EDX, 17, "uiret_uif", "goes with user interrupts"),
	HIDDEN(7, 1, CPUID_EDX, 18, "cet_sss", R_CET),
	HIDDEN(7, 1, CPUID_EDX, 21, "apx_f",
	       "its registers are not switched and REX2 is not decoded"),
	HIDDEN(7, 1, CPUID_EDX, 24, "slsm", R_FIRMWARE),
	HIDDEN(7, 2, CPUID_EDX, 6, "uclock_disable",
	       "its MSR is set for the whole core by the host"),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 2, "svm", R_NESTED),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 3, "extapic", "the virtual APIC has no extended registers"),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 9, "osvw",
	       "errata work-arounds that its MSRs steer are the host's"),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 10, "ibs", R_PMU),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 12, "skinit",
	       "a measured launch would replace the hypervisor"),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 13, "wdt", R_FIRMWARE),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 15, "lwp", R_PMU),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 19, "nodeid_msr",
	       "the NUMA node comes from the ACPI tables"),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 24, "perfctr_nb", R_PMU),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 25, "stream_perf_mon", R_PMU),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 26, "bpext", "breakpoint address masks are not switched"),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 27, "ptsc", R_PMU),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 28, "perfctr_llc", R_PMU),
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 30, "addr_mask_ext",
	       "breakpoint address masks are not switched"),
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 0, "overflow_recov", "machine checks are the host's"),
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 2, "hwa", "machine checks are the host's"),
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 3, "smca", "machine checks are the host's"),
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 4, "pfeh", R_FIRMWARE),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 0, "ts", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 1, "fid", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 2, "vid", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 3, "ttp", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 4, "htc", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 5, "stc", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 6, "100mhzsteps", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 7, "hw_pstate", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 9, "cpb", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 10, "eff_freq_ro", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 11, "proc_feedback", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 12, "acc_power", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 13, "connected_standby", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 14, "rapl", R_POWER),
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 15, "fast_cppc", R_POWER),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 1, "irperf", R_PMU),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 3, "invlpgb", R_INVLPGB),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 4, "rdpru", R_POWER),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 6, "mba", R_RDT),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 8, "mcommit", "EFER.MCOMMIT is not offered"),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 10, "lbr_extn", R_PMU),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 13, "int_wbinvd", "EFER.INTWB is not offered"),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 21, "invlpgb_nested", R_INVLPGB),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 23, "amd_ppin",
	       "the processor's serial number is the host's"),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 25, "virt_ssbd", "its MSR is not offered"),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 27, "cppc", R_POWER),
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 31, "brs", R_PMU),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 3, "smm_pg_cfg_lock", R_FIRMWARE),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 7, "uai", "EFER.UAIE is not offered"),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 12, "pmc2_precise_retire", R_PMU),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 13, "prefetch_ctl_msr",
	       "its MSR is set for the whole core by the host"),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 17, "cpuid_user_dis", "HWCR is virtual and has no effect"),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 22, "wl_class", R_POWER),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 24, "eraps", "its controls in the VMCB are not used"),
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 31, "srso_msr_fix",
	       "its MSR is set for the whole core by the host"),
};
/* clang-format on */
const unsigned cpuid_rows_hidden_count = ARRAY_SIZE(cpuid_rows_hidden);

/*
 * Leaves that are zero although the host has them; feature bits that point to them are hidden by
 * the tables.
 */
/* clang-format off */
static const struct {
	u32 leaf;
	const char *name;
	const char *reason;
} hidden_leaves[] = {
	{ 3, "processor serial number", "a VM has none" },
	{ 5, "MONITOR/MWAIT", R_MWAIT },
	{ 9, "direct cache access", R_FIRMWARE },
	{ 0xa, "architectural performance monitoring",
		"with `counters = yes` version 2 of it, else nothing" },
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
	{ 0x80000026, "extended CPU topology",
		"the topology is told by leaves 0xB and 0x8000001E" },
	{ 0x80000027, "workload classification", R_POWER },
};
/* clang-format on */

/* The i-th row of all tables. */
static const struct cpuid_row *row(unsigned i)
{
	if (i < cpuid_rows_basic_count)
		return &cpuid_rows_basic[i];
	i -= cpuid_rows_basic_count;
	if (i < cpuid_rows_ext_count)
		return &cpuid_rows_ext[i];
	i -= cpuid_rows_ext_count;
	return i < cpuid_rows_hidden_count ? &cpuid_rows_hidden[i] : NULL;
}

/* By leaf, subleaf, register and bit. */
static u64 place(const struct cpuid_row *r)
{
	return (u64)cpuid_row_leaf(r) << 16 | (u64)r->subleaf << 8 | (u64)r->reg << 5 | r->bit;
}

/* The row with a reason that comes next behind a place; NULL: none. */
static const struct cpuid_row *next_row(const struct cpuid_row *behind)
{
	const struct cpuid_row *r, *next = NULL;

	for (unsigned i = 0; (r = row(i)); i++)
		if (r->reason && (!behind || place(r) > place(behind)) &&
		    (!next || place(r) < place(next)))
			next = r;
	return next;
}

bool cpuid_policy_documented_hidden(unsigned i, struct cpuid_difference *out)
{
	static const char *const change[] = {
		[SHOW] = "conditional", [HIDE] = "hidden", [FORCE] = "forced on", [DYNAMIC] = "dynamic",
	};
	static const char *const reg[] = { "EAX", "EBX", "ECX", "EDX" };

	for (const struct cpuid_row *r = next_row(NULL); r; r = next_row(r)) {
		if (i--)
			continue;
		*out = (struct cpuid_difference){ cpuid_row_leaf(r), r->subleaf, reg[r->reg],
						  r->bit, r->name, change[r->rule],
						  r->reason };
		return true;
	}
	if (i >= ARRAY_SIZE(hidden_leaves))
		return false;
	*out = (struct cpuid_difference){ hidden_leaves[i].leaf, 0, NULL, 0,
					  hidden_leaves[i].name, "hidden",
					  hidden_leaves[i].reason };
	return true;
}
