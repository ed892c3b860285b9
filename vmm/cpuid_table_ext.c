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
	{ 0x80000001, 0, CPUID_ECX, 0, SHOW, .name = "lahf_lm" },
	{ 0x80000001, 0, CPUID_ECX, 1, SHOW, .name = "cmp_legacy" },
	{ 0x80000001, 0, CPUID_ECX, 2, HIDE, .name = "svm", .reason = R_NESTED },
	{ 0x80000001, 0, CPUID_ECX, 3, HIDE, .name = "extapic", .reason = "the virtual APIC has no extended registers" },
	{ 0x80000001, 0, CPUID_ECX, 4, SHOW, .name = "cr8_legacy" },
	{ 0x80000001, 0, CPUID_ECX, 5, SHOW, .name = "abm" },
	{ 0x80000001, 0, CPUID_ECX, 6, SHOW, .name = "sse4a" },
	{ 0x80000001, 0, CPUID_ECX, 7, SHOW, .name = "misalignsse" },
	{ 0x80000001, 0, CPUID_ECX, 8, SHOW, .name = "3dnowprefetch" },
	{ 0x80000001, 0, CPUID_ECX, 9, HIDE, .name = "osvw", .reason = "errata work-arounds that its MSRs steer are the host's" },
	{ 0x80000001, 0, CPUID_ECX, 10, HIDE, .name = "ibs", .reason = R_PMU },
	{ 0x80000001, 0, CPUID_ECX, 11, SHOW, .name = "xop", AVX },
	{ 0x80000001, 0, CPUID_ECX, 12, HIDE, .name = "skinit", .reason = "a measured launch would replace the hypervisor" },
	{ 0x80000001, 0, CPUID_ECX, 13, HIDE, .name = "wdt", .reason = R_FIRMWARE },
	{ 0x80000001, 0, CPUID_ECX, 15, HIDE, .name = "lwp", .reason = R_PMU },
	{ 0x80000001, 0, CPUID_ECX, 16, SHOW, .name = "fma4", AVX },
	{ 0x80000001, 0, CPUID_ECX, 17, SHOW, .name = "tce", .efer = EFER_TCE },
	{ 0x80000001, 0, CPUID_ECX, 19, HIDE, .name = "nodeid_msr", .reason = "the NUMA node comes from the ACPI tables" },
	{ 0x80000001, 0, CPUID_ECX, 21, SHOW, .name = "tbm" },
	{ 0x80000001, 0, CPUID_ECX, 22, SHOW, .name = "topoext" },
	{ 0x80000001, 0, CPUID_ECX, 23, HIDE, .name = "perfctr_core", .reason = R_PMU },
	{ 0x80000001, 0, CPUID_ECX, 24, HIDE, .name = "perfctr_nb", .reason = R_PMU },
	{ 0x80000001, 0, CPUID_ECX, 26, HIDE, .name = "bpext", .reason = "breakpoint address masks are not switched" },
	{ 0x80000001, 0, CPUID_ECX, 27, HIDE, .name = "ptsc", .reason = R_PMU },
	{ 0x80000001, 0, CPUID_ECX, 28, HIDE, .name = "perfctr_llc", .reason = R_PMU },
	{ 0x80000001, 0, CPUID_ECX, 29, HIDE, .name = "mwaitx", .reason = R_MWAIT },
	{ 0x80000001, 0, CPUID_ECX, 30, HIDE, .name = "addr_mask_ext", .reason = "breakpoint address masks are not switched" },
	{ 0x80000001, 0, CPUID_EDX, 11, SHOW, .name = "syscall", .efer = EFER_SCE },
	{ 0x80000001, 0, CPUID_EDX, 19, SHOW, .name = "mp" },
	{ 0x80000001, 0, CPUID_EDX, 20, SHOW, .name = "nx", .efer = EFER_NXE },
	{ 0x80000001, 0, CPUID_EDX, 22, SHOW, .name = "mmxext" },
	{ 0x80000001, 0, CPUID_EDX, 25, SHOW, .name = "fxsr_opt", .efer = EFER_FFXSR },
	{ 0x80000001, 0, CPUID_EDX, 26, SHOW, .name = "pdpe1gb" },
	{ 0x80000001, 0, CPUID_EDX, 27, SHOW, .name = "rdtscp", .reason = R_CONTROL, .need = NEED_RDTSCP },
	{ 0x80000001, 0, CPUID_EDX, 29, SHOW, .name = "lm", .efer = EFER_LME | EFER_LMA },
	{ 0x80000001, 0, CPUID_EDX, 30, SHOW, .name = "3dnowext" },
	{ 0x80000001, 0, CPUID_EDX, 31, SHOW, .name = "3dnow" },

	/* leaf 0x80000007: power management and RAS */
	{ 0x80000007, 0, CPUID_EBX, 0, HIDE, .name = "overflow_recov", .reason = "machine checks are the host's" },
	{ 0x80000007, 0, CPUID_EBX, 1, HIDE, .name = "succor", .reason = "machine checks are the host's" },
	{ 0x80000007, 0, CPUID_EBX, 3, HIDE, .name = "smca", .reason = "machine checks are the host's" },
	{ 0x80000007, 0, CPUID_EDX, 0, HIDE, .name = "ts", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 1, HIDE, .name = "fid", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 2, HIDE, .name = "vid", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 3, HIDE, .name = "ttp", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 4, HIDE, .name = "htc", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 5, HIDE, .name = "stc", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 6, HIDE, .name = "100mhzsteps", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 7, HIDE, .name = "hw_pstate", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 8, SHOW, .name = "constant_tsc",
	  .reason = "only where the host's TSCs agree", .need = NEED_STABLE_TSC },
	{ 0x80000007, 0, CPUID_EDX, 9, HIDE, .name = "cpb", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 10, HIDE, .name = "eff_freq_ro", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 11, HIDE, .name = "proc_feedback", .reason = R_POWER },
	{ 0x80000007, 0, CPUID_EDX, 12, HIDE, .name = "acc_power", .reason = R_POWER },

	/* leaf 0x80000008 */
	{ 0x80000008, 0, CPUID_EBX, 0, SHOW, .name = "clzero" },
	{ 0x80000008, 0, CPUID_EBX, 1, HIDE, .name = "irperf", .reason = R_PMU },
	{ 0x80000008, 0, CPUID_EBX, 2, SHOW, .name = "xsaveerptr" },
	{ 0x80000008, 0, CPUID_EBX, 3, HIDE, .name = "invlpgb", .reason = R_INVLPGB },
	{ 0x80000008, 0, CPUID_EBX, 4, HIDE, .name = "rdpru", .reason = R_POWER },
	{ 0x80000008, 0, CPUID_EBX, 6, HIDE, .name = "mba", .reason = R_RDT },
	{ 0x80000008, 0, CPUID_EBX, 8, SHOW, .name = "mcommit" },
	{ 0x80000008, 0, CPUID_EBX, 9, SHOW, .name = "wbnoinvd" },
	{ 0x80000008, 0, CPUID_EBX, 12, SHOW, .name = "amd_ibpb" },
	{ 0x80000008, 0, CPUID_EBX, 13, SHOW, .name = "int_wbinvd" },
	{ 0x80000008, 0, CPUID_EBX, 14, SHOW, .name = "amd_ibrs" },
	{ 0x80000008, 0, CPUID_EBX, 15, SHOW, .name = "amd_stibp" },
	{ 0x80000008, 0, CPUID_EBX, 16, SHOW, .name = "ibrs_always_on" },
	{ 0x80000008, 0, CPUID_EBX, 17, SHOW, .name = "amd_stibp_always_on" },
	{ 0x80000008, 0, CPUID_EBX, 18, SHOW, .name = "ibrs_preferred" },
	{ 0x80000008, 0, CPUID_EBX, 19, SHOW, .name = "ibrs_same_mode" },
	{ 0x80000008, 0, CPUID_EBX, 20, SHOW, .name = "efer_lmsle_mbz" },
	{ 0x80000008, 0, CPUID_EBX, 21, HIDE, .name = "invlpgb_nested", .reason = R_INVLPGB },
	{ 0x80000008, 0, CPUID_EBX, 23, HIDE, .name = "amd_ppin", .reason = "the processor's serial number is the host's" },
	{ 0x80000008, 0, CPUID_EBX, 24, SHOW, .name = "amd_ssbd" },
	{ 0x80000008, 0, CPUID_EBX, 25, HIDE, .name = "virt_ssbd", .reason = "its MSR is not offered" },
	{ 0x80000008, 0, CPUID_EBX, 26, SHOW, .name = "amd_ssb_no" },
	{ 0x80000008, 0, CPUID_EBX, 27, HIDE, .name = "cppc", .reason = R_POWER },
	{ 0x80000008, 0, CPUID_EBX, 28, SHOW, .name = "amd_psfd" },
	{ 0x80000008, 0, CPUID_EBX, 29, SHOW, .name = "btc_no" },
	{ 0x80000008, 0, CPUID_EBX, 30, SHOW, .name = "ibpb_ret" },
	{ 0x80000008, 0, CPUID_EBX, 31, HIDE, .name = "brs", .reason = R_PMU },

	/* leaf 0x8000001A: performance hints */
	{ 0x8000001a, 0, CPUID_EAX, 0, SHOW, .name = "fp128" },
	{ 0x8000001a, 0, CPUID_EAX, 1, SHOW, .name = "movu" },
	{ 0x8000001a, 0, CPUID_EAX, 2, SHOW, .name = "fp256" },

	/* leaf 0x80000021 */
	{ 0x80000021, 0, CPUID_EAX, 0, SHOW, .name = "no_nested_data_bp" },
	{ 0x80000021, 0, CPUID_EAX, 1, SHOW, .name = "wrmsr_xx_base_ns" },
	{ 0x80000021, 0, CPUID_EAX, 2, SHOW, .name = "lfence_rdtsc" },
	{ 0x80000021, 0, CPUID_EAX, 3, HIDE, .name = "smm_pg_cfg_lock", .reason = R_FIRMWARE },
	{ 0x80000021, 0, CPUID_EAX, 6, SHOW, .name = "null_sel_clr_base" },
	{ 0x80000021, 0, CPUID_EAX, 7, HIDE, .name = "uai", .reason = "EFER.UAIE is not offered" },
	{ 0x80000021, 0, CPUID_EAX, 8, SHOW, .name = "autoibrs", .efer = EFER_AUTOIBRS },
	{ 0x80000021, 0, CPUID_EAX, 9, SHOW, .name = "no_smm_ctl_msr" },
	{ 0x80000021, 0, CPUID_EAX, 10, SHOW, .name = "amd_fsrs" },
	{ 0x80000021, 0, CPUID_EAX, 11, SHOW, .name = "amd_fsrc" },
	{ 0x80000021, 0, CPUID_EAX, 13, HIDE, .name = "prefetch_ctl_msr",
	  .reason = "its MSR is set for the whole core by the host" },
	{ 0x80000021, 0, CPUID_EAX, 17, HIDE, .name = "cpuid_user_dis", .reason = "HWCR is virtual and has no effect" },
	{ 0x80000021, 0, CPUID_EAX, 18, SHOW, .name = "epsf" },
	{ 0x80000021, 0, CPUID_EAX, 20, SHOW, .name = "amd_prefetchi" },
	{ 0x80000021, 0, CPUID_EAX, 23, HIDE, .name = "eraps", .reason = "its controls in the VMCB are not used" },
	{ 0x80000021, 0, CPUID_EAX, 27, SHOW, .name = "sbpb" },
	{ 0x80000021, 0, CPUID_EAX, 28, SHOW, .name = "ibpb_brtype" },
	{ 0x80000021, 0, CPUID_EAX, 29, SHOW, .name = "srso_no" },
	{ 0x80000021, 0, CPUID_EAX, 30, SHOW, .name = "srso_user_kernel_no" },
};
const unsigned cpuid_rows_ext_count = ARRAY_SIZE(cpuid_rows_ext);

/* Leaves that are zero although the host has them; feature bits that point to them are hidden above. */
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
