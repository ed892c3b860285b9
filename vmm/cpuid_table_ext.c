/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: CPUID policy, feature bits of the extended leaves (APM vol. 3, appendix E) and
 * the leaves that are hidden whole. A bit that no row names is hidden.
 */
#include "vmm/cpuid_table.h"

/* Reasons that several rows share. */
#define R_PMU "performance monitoring is not virtualized"
#define R_POWER "power, frequency and heat are the host's"
#define R_MWAIT "an idle guest must leave its CPU to the monitor"
#define R_NESTED "no nested virtualization"
#define R_FIRMWARE "a platform feature that only firmware and chip set use"
#define R_CONTROL "only where the virtualization hardware lets a guest have it"
#define R_RDT "caches and memory bandwidth are divided by the host"
#define R_INVLPGB "TLB shootdown by broadcast would reach other VMs"

#define AVX .xcr0 = XCR0_AVX

const struct cpuid_row cpuid_rows_ext[] = {
	/* leaf 0x80000001 */
	{ 0x80000001, 0, CPUID_ECX, 0, SHOW, .name = TEXT("lahf_lm") },
	{ 0x80000001, 0, CPUID_ECX, 1, SHOW, .name = TEXT("cmp_legacy") },
	{ 0x80000001, 0, CPUID_ECX, 2, HIDE, .name = TEXT("svm"), .reason = TEXT(R_NESTED) },
	{ 0x80000001, 0, CPUID_ECX, 3, HIDE, .name = TEXT("extapic"),
	  .reason = TEXT("the virtual APIC has no extended registers") },
	{ 0x80000001, 0, CPUID_ECX, 4, SHOW, .name = TEXT("cr8_legacy") },
	{ 0x80000001, 0, CPUID_ECX, 5, SHOW, .name = TEXT("abm") },
	{ 0x80000001, 0, CPUID_ECX, 6, SHOW, .name = TEXT("sse4a") },
	{ 0x80000001, 0, CPUID_ECX, 7, SHOW, .name = TEXT("misalignsse") },
	{ 0x80000001, 0, CPUID_ECX, 8, SHOW, .name = TEXT("3dnowprefetch") },
	{ 0x80000001, 0, CPUID_ECX, 9, HIDE, .name = TEXT("osvw"),
	  .reason = TEXT("errata work-arounds that its MSRs steer are the host's") },
	{ 0x80000001, 0, CPUID_ECX, 10, HIDE, .name = TEXT("ibs"), .reason = TEXT(R_PMU) },
	{ 0x80000001, 0, CPUID_ECX, 11, SHOW, .name = TEXT("xop"), AVX },
	{ 0x80000001, 0, CPUID_ECX, 12, HIDE, .name = TEXT("skinit"),
	  .reason = TEXT("a measured launch would replace the hypervisor") },
	{ 0x80000001, 0, CPUID_ECX, 13, HIDE, .name = TEXT("wdt"), .reason = TEXT(R_FIRMWARE) },
	{ 0x80000001, 0, CPUID_ECX, 15, HIDE, .name = TEXT("lwp"), .reason = TEXT(R_PMU) },
	{ 0x80000001, 0, CPUID_ECX, 16, SHOW, .name = TEXT("fma4"), AVX },
	{ 0x80000001, 0, CPUID_ECX, 17, SHOW, .name = TEXT("tce"), .efer = EFER_TCE },
	{ 0x80000001, 0, CPUID_ECX, 19, HIDE, .name = TEXT("nodeid_msr"),
	  .reason = TEXT("the NUMA node comes from the ACPI tables") },
	{ 0x80000001, 0, CPUID_ECX, 21, SHOW, .name = TEXT("tbm") },
	{ 0x80000001, 0, CPUID_ECX, 22, SHOW, .name = TEXT("topoext") },
	{ 0x80000001, 0, CPUID_ECX, 23, HIDE, .name = TEXT("perfctr_core"), .reason = TEXT(R_PMU) },
	{ 0x80000001, 0, CPUID_ECX, 24, HIDE, .name = TEXT("perfctr_nb"), .reason = TEXT(R_PMU) },
	{ 0x80000001, 0, CPUID_ECX, 26, HIDE, .name = TEXT("bpext"), .reason = TEXT("breakpoint address masks are not switched") },
	{ 0x80000001, 0, CPUID_ECX, 27, HIDE, .name = TEXT("ptsc"), .reason = TEXT(R_PMU) },
	{ 0x80000001, 0, CPUID_ECX, 28, HIDE, .name = TEXT("perfctr_llc"), .reason = TEXT(R_PMU) },
	{ 0x80000001, 0, CPUID_ECX, 29, HIDE, .name = TEXT("mwaitx"), .reason = TEXT(R_MWAIT) },
	{ 0x80000001, 0, CPUID_ECX, 30, HIDE, .name = TEXT("addr_mask_ext"),
	  .reason = TEXT("breakpoint address masks are not switched") },
	{ 0x80000001, 0, CPUID_EDX, 11, SHOW, .name = TEXT("syscall"), .efer = EFER_SCE },
	{ 0x80000001, 0, CPUID_EDX, 19, SHOW, .name = TEXT("mp") },
	{ 0x80000001, 0, CPUID_EDX, 20, SHOW, .name = TEXT("nx"), .efer = EFER_NXE },
	{ 0x80000001, 0, CPUID_EDX, 22, SHOW, .name = TEXT("mmxext") },
	{ 0x80000001, 0, CPUID_EDX, 25, SHOW, .name = TEXT("fxsr_opt"), .efer = EFER_FFXSR },
	{ 0x80000001, 0, CPUID_EDX, 26, SHOW, .name = TEXT("pdpe1gb") },
	{ 0x80000001, 0, CPUID_EDX, 27, SHOW, .name = TEXT("rdtscp"), .reason = TEXT(R_CONTROL), .need = NEED_RDTSCP },
	{ 0x80000001, 0, CPUID_EDX, 29, SHOW, .name = TEXT("lm"), .efer = EFER_LME | EFER_LMA },
	{ 0x80000001, 0, CPUID_EDX, 30, SHOW, .name = TEXT("3dnowext") },
	{ 0x80000001, 0, CPUID_EDX, 31, SHOW, .name = TEXT("3dnow") },

	/* leaf 0x80000007: power management and RAS */
	{ 0x80000007, 0, CPUID_EBX, 0, HIDE, .name = TEXT("overflow_recov"), .reason = TEXT("machine checks are the host's") },
	{ 0x80000007, 0, CPUID_EBX, 1, HIDE, .name = TEXT("succor"), .reason = TEXT("machine checks are the host's") },
	{ 0x80000007, 0, CPUID_EBX, 3, HIDE, .name = TEXT("smca"), .reason = TEXT("machine checks are the host's") },
	{ 0x80000007, 0, CPUID_EDX, 0, HIDE, .name = TEXT("ts"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 1, HIDE, .name = TEXT("fid"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 2, HIDE, .name = TEXT("vid"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 3, HIDE, .name = TEXT("ttp"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 4, HIDE, .name = TEXT("htc"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 5, HIDE, .name = TEXT("stc"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 6, HIDE, .name = TEXT("100mhzsteps"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 7, HIDE, .name = TEXT("hw_pstate"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 8, SHOW, .name = TEXT("constant_tsc"),
	  .reason = TEXT("only where the host's TSCs agree"), .need = NEED_STABLE_TSC },
	{ 0x80000007, 0, CPUID_EDX, 9, HIDE, .name = TEXT("cpb"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 10, HIDE, .name = TEXT("eff_freq_ro"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 11, HIDE, .name = TEXT("proc_feedback"), .reason = TEXT(R_POWER) },
	{ 0x80000007, 0, CPUID_EDX, 12, HIDE, .name = TEXT("acc_power"), .reason = TEXT(R_POWER) },

	/* leaf 0x80000008 */
	{ 0x80000008, 0, CPUID_EBX, 0, SHOW, .name = TEXT("clzero") },
	{ 0x80000008, 0, CPUID_EBX, 1, HIDE, .name = TEXT("irperf"), .reason = TEXT(R_PMU) },
	{ 0x80000008, 0, CPUID_EBX, 2, SHOW, .name = TEXT("xsaveerptr") },
	{ 0x80000008, 0, CPUID_EBX, 3, HIDE, .name = TEXT("invlpgb"), .reason = TEXT(R_INVLPGB) },
	{ 0x80000008, 0, CPUID_EBX, 4, HIDE, .name = TEXT("rdpru"), .reason = TEXT(R_POWER) },
	{ 0x80000008, 0, CPUID_EBX, 6, HIDE, .name = TEXT("mba"), .reason = TEXT(R_RDT) },
	{ 0x80000008, 0, CPUID_EBX, 8, SHOW, .name = TEXT("mcommit") },
	{ 0x80000008, 0, CPUID_EBX, 9, SHOW, .name = TEXT("wbnoinvd") },
	{ 0x80000008, 0, CPUID_EBX, 12, SHOW, .name = TEXT("amd_ibpb") },
	{ 0x80000008, 0, CPUID_EBX, 13, SHOW, .name = TEXT("int_wbinvd") },
	{ 0x80000008, 0, CPUID_EBX, 14, SHOW, .name = TEXT("amd_ibrs") },
	{ 0x80000008, 0, CPUID_EBX, 15, SHOW, .name = TEXT("amd_stibp") },
	{ 0x80000008, 0, CPUID_EBX, 16, SHOW, .name = TEXT("ibrs_always_on") },
	{ 0x80000008, 0, CPUID_EBX, 17, SHOW, .name = TEXT("amd_stibp_always_on") },
	{ 0x80000008, 0, CPUID_EBX, 18, SHOW, .name = TEXT("ibrs_preferred") },
	{ 0x80000008, 0, CPUID_EBX, 19, SHOW, .name = TEXT("ibrs_same_mode") },
	{ 0x80000008, 0, CPUID_EBX, 20, SHOW, .name = TEXT("efer_lmsle_mbz") },
	{ 0x80000008, 0, CPUID_EBX, 21, HIDE, .name = TEXT("invlpgb_nested"), .reason = TEXT(R_INVLPGB) },
	{ 0x80000008, 0, CPUID_EBX, 23, HIDE, .name = TEXT("amd_ppin"),
	  .reason = TEXT("the processor's serial number is the host's") },
	{ 0x80000008, 0, CPUID_EBX, 24, SHOW, .name = TEXT("amd_ssbd") },
	{ 0x80000008, 0, CPUID_EBX, 25, HIDE, .name = TEXT("virt_ssbd"), .reason = TEXT("its MSR is not offered") },
	{ 0x80000008, 0, CPUID_EBX, 26, SHOW, .name = TEXT("amd_ssb_no") },
	{ 0x80000008, 0, CPUID_EBX, 27, HIDE, .name = TEXT("cppc"), .reason = TEXT(R_POWER) },
	{ 0x80000008, 0, CPUID_EBX, 28, SHOW, .name = TEXT("amd_psfd") },
	{ 0x80000008, 0, CPUID_EBX, 29, SHOW, .name = TEXT("btc_no") },
	{ 0x80000008, 0, CPUID_EBX, 30, SHOW, .name = TEXT("ibpb_ret") },
	{ 0x80000008, 0, CPUID_EBX, 31, HIDE, .name = TEXT("brs"), .reason = TEXT(R_PMU) },

	/* leaf 0x8000001A: performance hints */
	{ 0x8000001a, 0, CPUID_EAX, 0, SHOW, .name = TEXT("fp128") },
	{ 0x8000001a, 0, CPUID_EAX, 1, SHOW, .name = TEXT("movu") },
	{ 0x8000001a, 0, CPUID_EAX, 2, SHOW, .name = TEXT("fp256") },

	/* leaf 0x80000021 */
	{ 0x80000021, 0, CPUID_EAX, 0, SHOW, .name = TEXT("no_nested_data_bp") },
	{ 0x80000021, 0, CPUID_EAX, 1, SHOW, .name = TEXT("wrmsr_xx_base_ns") },
	{ 0x80000021, 0, CPUID_EAX, 2, SHOW, .name = TEXT("lfence_rdtsc") },
	{ 0x80000021, 0, CPUID_EAX, 3, HIDE, .name = TEXT("smm_pg_cfg_lock"), .reason = TEXT(R_FIRMWARE) },
	{ 0x80000021, 0, CPUID_EAX, 6, SHOW, .name = TEXT("null_sel_clr_base") },
	{ 0x80000021, 0, CPUID_EAX, 7, HIDE, .name = TEXT("uai"), .reason = TEXT("EFER.UAIE is not offered") },
	{ 0x80000021, 0, CPUID_EAX, 8, SHOW, .name = TEXT("autoibrs"), .efer = EFER_AUTOIBRS },
	{ 0x80000021, 0, CPUID_EAX, 9, SHOW, .name = TEXT("no_smm_ctl_msr") },
	{ 0x80000021, 0, CPUID_EAX, 10, SHOW, .name = TEXT("amd_fsrs") },
	{ 0x80000021, 0, CPUID_EAX, 11, SHOW, .name = TEXT("amd_fsrc") },
	{ 0x80000021, 0, CPUID_EAX, 13, HIDE, .name = TEXT("prefetch_ctl_msr"),
	  .reason = TEXT("its MSR is set for the whole core by the host") },
	{ 0x80000021, 0, CPUID_EAX, 17, HIDE, .name = TEXT("cpuid_user_dis"), .reason = TEXT("HWCR is virtual and has no effect") },
	{ 0x80000021, 0, CPUID_EAX, 18, SHOW, .name = TEXT("epsf") },
	{ 0x80000021, 0, CPUID_EAX, 20, SHOW, .name = TEXT("amd_prefetchi") },
	{ 0x80000021, 0, CPUID_EAX, 23, HIDE, .name = TEXT("eraps"), .reason = TEXT("its controls in the VMCB are not used") },
	{ 0x80000021, 0, CPUID_EAX, 27, SHOW, .name = TEXT("sbpb") },
	{ 0x80000021, 0, CPUID_EAX, 28, SHOW, .name = TEXT("ibpb_brtype") },
	{ 0x80000021, 0, CPUID_EAX, 29, SHOW, .name = TEXT("srso_no") },
	{ 0x80000021, 0, CPUID_EAX, 30, SHOW, .name = TEXT("srso_user_kernel_no") },
};
const unsigned cpuid_rows_ext_count = ARRAY_SIZE(cpuid_rows_ext);

/* Leaves that are zero although the host has them; feature bits that point to them are hidden above. */
#if __STDC_HOSTED__
const struct cpuid_hidden_leaf cpuid_hidden_leaves[] = {
	{ 3, "processor serial number", "a VM has none" },
	{ 5, "MONITOR/MWAIT", R_MWAIT },
	{ 9, "direct cache access", R_FIRMWARE },
	{ 0xa, "architectural performance monitoring", R_PMU },
	{ 0xf, "resource director monitoring", R_RDT },
	{ 0x10, "resource director allocation", R_RDT },
	{ 0x12, "SGX", "enclave memory is not given to guests" },
	{ 0x14, "processor trace", "traces to host-physical addresses; its MSRs are not switched" },
	{ 0x17, "SoC vendor", R_FIRMWARE },
	{ 0x19, "Key Locker", "Key Locker keys cannot be switched" },
	{ 0x1a, "hybrid information", "a VM is not bound to one kind of core" },
	{ 0x1b, "PCONFIG", "memory encryption keys are the host's" },
	{ 0x1c, "last branch records", R_PMU },
	{ 0x20, "processor history reset", "a VM is not bound to one kind of core" },
	{ 0x21, "TDX", R_NESTED },
	{ 0x23, "architectural performance monitoring, extended", R_PMU },
	{ 0x8000000a, "SVM", R_NESTED },
	{ 0x8000001b, "instruction-based sampling", R_PMU },
	{ 0x8000001c, "lightweight profiling", R_PMU },
	{ 0x8000001f, "memory encryption", "memory encryption keys are the host's" },
	{ 0x80000020, "platform quality of service", R_RDT },
	{ 0x80000022, "performance monitoring version 2", R_PMU },
	{ 0x80000023, "multi-key memory encryption", "memory encryption keys are the host's" },
	{ 0x80000026, "extended CPU topology", "the topology is told by leaves 0xB and 0x8000001E" },
};
const unsigned cpuid_hidden_leaves_count = ARRAY_SIZE(cpuid_hidden_leaves);
#endif
