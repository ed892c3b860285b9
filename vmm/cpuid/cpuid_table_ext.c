/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: CPUID policy, feature bits of the extended leaves (APM vol. 3, appendix E). A bit that no row names is hidden.
 */
#include "vmm/cpuid/cpuid_table.h"

/* Reasons that several rows share. */
#define R_INVLPGB "TLB shootdown by broadcast would reach other VMs"

#define AVX .xstate = XSTATE_AVX
#define AVX512 .xstate = XSTATE_AVX512

const struct cpuid_row cpuid_rows_ext[] = {
	/* leaf 0x80000001 */
	{ EXT(0x1), 0, CPUID_ECX, 0, SHOW, .name = TEXT("lahf_lm") },
	{ EXT(0x1), 0, CPUID_ECX, 1, SHOW, .name = TEXT("cmp_legacy") },
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 2, "svm", R_NESTED)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 3, "extapic", "the virtual APIC has no extended registers")
	{ EXT(0x1), 0, CPUID_ECX, 4, SHOW, .name = TEXT("cr8_legacy") },
	{ EXT(0x1), 0, CPUID_ECX, 5, SHOW, .name = TEXT("abm") },
	{ EXT(0x1), 0, CPUID_ECX, 6, SHOW, .name = TEXT("sse4a") },
	{ EXT(0x1), 0, CPUID_ECX, 7, SHOW, .name = TEXT("misalignsse") },
	{ EXT(0x1), 0, CPUID_ECX, 8, SHOW, .name = TEXT("3dnowprefetch") },
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 9, "osvw", "errata work-arounds that its MSRs steer are the host's")
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 10, "ibs", R_PMU)
	{ EXT(0x1), 0, CPUID_ECX, 11, SHOW, .name = TEXT("xop"), AVX },
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 12, "skinit", "a measured launch would replace the hypervisor")
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 13, "wdt", R_FIRMWARE)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 15, "lwp", R_PMU)
	{ EXT(0x1), 0, CPUID_ECX, 16, SHOW, .name = TEXT("fma4"), AVX },
	{ EXT(0x1), 0, CPUID_ECX, 17, SHOW, .name = TEXT("tce"), .control = EFER_TCE },
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 19, "nodeid_msr", "the NUMA node comes from the ACPI tables")
	{ EXT(0x1), 0, CPUID_ECX, 21, SHOW, .name = TEXT("tbm") },
	{ EXT(0x1), 0, CPUID_ECX, 22, SHOW, .name = TEXT("topoext") },
	{ EXT(0x1), 0, CPUID_ECX, 23, SHOW, .name = TEXT("perfctr_core"), .reason = TEXT("with `counters = yes`"),
	  .need = NEED_COUNTERS },
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 24, "perfctr_nb", R_PMU)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 25, "stream_perf_mon", R_PMU)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 26, "bpext", "breakpoint address masks are not switched")
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 27, "ptsc", R_PMU)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 28, "perfctr_llc", R_PMU)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 29, "mwaitx", R_MWAIT)
	HIDDEN(EXT(0x1), 0, CPUID_ECX, 30, "addr_mask_ext", "breakpoint address masks are not switched")
	{ EXT(0x1), 0, CPUID_EDX, 11, SHOW, .name = TEXT("syscall"), .control = EFER_SCE },
	{ EXT(0x1), 0, CPUID_EDX, 19, SHOW, .name = TEXT("mp") },
	{ EXT(0x1), 0, CPUID_EDX, 20, SHOW, .name = TEXT("nx"), .control = EFER_NXE },
	{ EXT(0x1), 0, CPUID_EDX, 22, SHOW, .name = TEXT("mmxext") },
	{ EXT(0x1), 0, CPUID_EDX, 25, SHOW, .name = TEXT("fxsr_opt"), .control = EFER_FFXSR },
	{ EXT(0x1), 0, CPUID_EDX, 26, SHOW, .name = TEXT("pdpe1gb") },
	{ EXT(0x1), 0, CPUID_EDX, 27, SHOW, .name = TEXT("rdtscp"), .reason = TEXT(R_CONTROL), .need = NEED_RDTSCP },
	{ EXT(0x1), 0, CPUID_EDX, 29, SHOW, .name = TEXT("lm"), .control = EFER_LME | EFER_LMA },
	{ EXT(0x1), 0, CPUID_EDX, 30, SHOW, .name = TEXT("3dnowext") },
	{ EXT(0x1), 0, CPUID_EDX, 31, SHOW, .name = TEXT("3dnow") },

	/* leaf 0x80000007: power management and RAS */
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 0, "overflow_recov", "machine checks are the host's")
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 1, "succor", "machine checks are the host's")
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 2, "hwa", "machine checks are the host's")
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 3, "smca", "machine checks are the host's")
	HIDDEN(EXT(0x7), 0, CPUID_EBX, 4, "pfeh", R_FIRMWARE)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 0, "ts", R_POWER) HIDDEN(EXT(0x7), 0, CPUID_EDX, 1, "fid", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 2, "vid", R_POWER) HIDDEN(EXT(0x7), 0, CPUID_EDX, 3, "ttp", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 4, "htc", R_POWER) HIDDEN(EXT(0x7), 0, CPUID_EDX, 5, "stc", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 6, "100mhzsteps", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 7, "hw_pstate", R_POWER)
	{ EXT(0x7), 0, CPUID_EDX, 8, SHOW, .name = TEXT("constant_tsc"),
	  .reason = TEXT("only where the host's TSCs agree"), .need = NEED_STABLE_TSC },
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 9, "cpb", R_POWER) HIDDEN(EXT(0x7), 0, CPUID_EDX, 10, "eff_freq_ro", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 11, "proc_feedback", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 12, "acc_power", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 13, "connected_standby", R_POWER)
	HIDDEN(EXT(0x7), 0, CPUID_EDX, 14, "rapl", R_POWER) HIDDEN(EXT(0x7), 0, CPUID_EDX, 15, "fast_cppc", R_POWER)

	/* leaf 0x80000008 */
	{ EXT(0x8), 0, CPUID_EBX, 0, SHOW, .name = TEXT("clzero") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 1, "irperf", R_PMU)
	{ EXT(0x8), 0, CPUID_EBX, 2, SHOW, .name = TEXT("xsaveerptr") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 3, "invlpgb", R_INVLPGB)
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 4, "rdpru", R_POWER)
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 6, "mba", R_RDT)
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 8, "mcommit", "EFER.MCOMMIT is not offered")
	{ EXT(0x8), 0, CPUID_EBX, 9, SHOW, .name = TEXT("wbnoinvd") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 10, "lbr_extn", R_PMU)
	{ EXT(0x8), 0, CPUID_EBX, 12, SHOW, .name = TEXT("amd_ibpb") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 13, "int_wbinvd", "EFER.INTWB is not offered")
	{ EXT(0x8), 0, CPUID_EBX, 14, SHOW, .name = TEXT("amd_ibrs") },
	{ EXT(0x8), 0, CPUID_EBX, 15, SHOW, .name = TEXT("amd_stibp") },
	{ EXT(0x8), 0, CPUID_EBX, 16, SHOW, .name = TEXT("ibrs_always_on") },
	{ EXT(0x8), 0, CPUID_EBX, 17, SHOW, .name = TEXT("amd_stibp_always_on") },
	{ EXT(0x8), 0, CPUID_EBX, 18, SHOW, .name = TEXT("ibrs_preferred") },
	{ EXT(0x8), 0, CPUID_EBX, 19, SHOW, .name = TEXT("ibrs_same_mode") },
	{ EXT(0x8), 0, CPUID_EBX, 20, FORCE, .name = TEXT("efer_lmsle_mbz"),
	  .reason = TEXT("no guest of an AMD CPU has EFER.LMSLE"), .need = NEED_AMD },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 21, "invlpgb_nested", R_INVLPGB)
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 23, "amd_ppin", "the processor's serial number is the host's")
	{ EXT(0x8), 0, CPUID_EBX, 24, SHOW, .name = TEXT("amd_ssbd") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 25, "virt_ssbd", "its MSR is not offered")
	{ EXT(0x8), 0, CPUID_EBX, 26, SHOW, .name = TEXT("amd_ssb_no") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 27, "cppc", R_POWER)
	{ EXT(0x8), 0, CPUID_EBX, 28, SHOW, .name = TEXT("amd_psfd") },
	{ EXT(0x8), 0, CPUID_EBX, 29, SHOW, .name = TEXT("btc_no") },
	{ EXT(0x8), 0, CPUID_EBX, 30, SHOW, .name = TEXT("ibpb_ret") },
	HIDDEN(EXT(0x8), 0, CPUID_EBX, 31, "brs", R_PMU)

	/* leaf 0x8000001A: performance hints */
	{ EXT(0x1a), 0, CPUID_EAX, 0, SHOW, .name = TEXT("fp128") },
	{ EXT(0x1a), 0, CPUID_EAX, 1, SHOW, .name = TEXT("movu") },
	{ EXT(0x1a), 0, CPUID_EAX, 2, SHOW, .name = TEXT("fp256") },
	{ EXT(0x1a), 0, CPUID_EAX, 3, SHOW, .name = TEXT("fp512") },

	/* leaf 0x80000021 */
	{ EXT(0x21), 0, CPUID_EAX, 0, SHOW, .name = TEXT("no_nested_data_bp") },
	{ EXT(0x21), 0, CPUID_EAX, 1, SHOW, .name = TEXT("wrmsr_xx_base_ns") },
	{ EXT(0x21), 0, CPUID_EAX, 2, SHOW, .name = TEXT("lfence_rdtsc") },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 3, "smm_pg_cfg_lock", R_FIRMWARE)
	{ EXT(0x21), 0, CPUID_EAX, 5, SHOW, .name = TEXT("verw_clear") },
	{ EXT(0x21), 0, CPUID_EAX, 6, SHOW, .name = TEXT("null_sel_clr_base") },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 7, "uai", "EFER.UAIE is not offered")
	{ EXT(0x21), 0, CPUID_EAX, 8, SHOW, .name = TEXT("autoibrs"), .control = EFER_AUTOIBRS },
	{ EXT(0x21), 0, CPUID_EAX, 9, SHOW, .name = TEXT("no_smm_ctl_msr") },
	{ EXT(0x21), 0, CPUID_EAX, 10, SHOW, .name = TEXT("amd_fsrs") },
	{ EXT(0x21), 0, CPUID_EAX, 11, SHOW, .name = TEXT("amd_fsrc") },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 12, "pmc2_precise_retire", R_PMU)
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 13, "prefetch_ctl_msr", "its MSR is set for the whole core by the host")
	{ EXT(0x21), 0, CPUID_EAX, 14, SHOW, .name = TEXT("l2_tlb_size_x32") },
	{ EXT(0x21), 0, CPUID_EAX, 15, SHOW, .name = TEXT("amd_ermsb") },
	{ EXT(0x21), 0, CPUID_EAX, 16, SHOW, .name = TEXT("opcode_0f017_reclaim") },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 17, "cpuid_user_dis", "HWCR is virtual and has no effect")
	{ EXT(0x21), 0, CPUID_EAX, 18, SHOW, .name = TEXT("epsf") },
	{ EXT(0x21), 0, CPUID_EAX, 19, SHOW, .name = TEXT("fast_rep_scasb") },
	{ EXT(0x21), 0, CPUID_EAX, 20, SHOW, .name = TEXT("amd_prefetchi") },
	{ EXT(0x21), 0, CPUID_EAX, 21, SHOW, .name = TEXT("fp512_downgrade") },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 22, "wl_class", R_POWER)
	{ EXT(0x21), 0, CPUID_EAX, 23, SHOW, .name = TEXT("avx512_bmm"), AVX512 },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 24, "eraps", "its controls in the VMCB are not used")
	{ EXT(0x21), 0, CPUID_EAX, 27, SHOW, .name = TEXT("sbpb") },
	{ EXT(0x21), 0, CPUID_EAX, 28, SHOW, .name = TEXT("ibpb_brtype") },
	{ EXT(0x21), 0, CPUID_EAX, 29, SHOW, .name = TEXT("srso_no") },
	{ EXT(0x21), 0, CPUID_EAX, 30, SHOW, .name = TEXT("srso_user_kernel_no") },
	HIDDEN(EXT(0x21), 0, CPUID_EAX, 31, "srso_msr_fix", "its MSR is set for the whole core by the host")
	{ EXT(0x21), 0, CPUID_ECX, 1, SHOW, .name = TEXT("tsa_sq_no") },
	{ EXT(0x21), 0, CPUID_ECX, 2, SHOW, .name = TEXT("tsa_l1_no") },
};
const unsigned cpuid_rows_ext_count = ARRAY_SIZE(cpuid_rows_ext);
