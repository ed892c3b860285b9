/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: CPUID policy, feature bits of the extended leaves (APM vol. 3, appendix E). A bit
 * that no row names is hidden; tools/cpuid-differences.c has the reasons.
 */
#include "vmm/cpuid/cpuid_table.h"

#define AVX .xstate = XSTATE_AVX
#define AVX512 .xstate = XSTATE_AVX512

/* clang-format off */
const struct cpuid_row cpuid_rows_ext[] = {
	/* leaf 0x80000001 */
	{ EXT(0x1), 0, CPUID_ECX, 0, SHOW, .name = TEXT("lahf_lm") },
	{ EXT(0x1), 0, CPUID_ECX, 1, SHOW, .name = TEXT("cmp_legacy") },
	{ EXT(0x1), 0, CPUID_ECX, 4, SHOW, .name = TEXT("cr8_legacy") },
	{ EXT(0x1), 0, CPUID_ECX, 5, SHOW, .name = TEXT("abm") },
	{ EXT(0x1), 0, CPUID_ECX, 6, SHOW, .name = TEXT("sse4a") },
	{ EXT(0x1), 0, CPUID_ECX, 7, SHOW, .name = TEXT("misalignsse") },
	{ EXT(0x1), 0, CPUID_ECX, 8, SHOW, .name = TEXT("3dnowprefetch") },
	{ EXT(0x1), 0, CPUID_ECX, 11, SHOW, .name = TEXT("xop"), AVX },
	{ EXT(0x1), 0, CPUID_ECX, 16, SHOW, .name = TEXT("fma4"), AVX },
	{ EXT(0x1), 0, CPUID_ECX, 17, SHOW, .name = TEXT("tce"), .control = EFER_TCE },
	{ EXT(0x1), 0, CPUID_ECX, 21, SHOW, .name = TEXT("tbm") },
	{ EXT(0x1), 0, CPUID_ECX, 22, SHOW, .name = TEXT("topoext") },
	{ EXT(0x1), 0, CPUID_ECX, 23, SHOW, .name = TEXT("perfctr_core"),
		.reason = TEXT("with `counters = yes`"),
	  .need = NEED_COUNTERS },
	{ EXT(0x1), 0, CPUID_ECX, 29, SHOW, .name = TEXT("mwaitx"), .need = NEED_MWAIT,
		.reason = TEXT(R_MWAIT) },
	{ EXT(0x1), 0, CPUID_EDX, 11, SHOW, .name = TEXT("syscall"), .control = EFER_SCE },
	{ EXT(0x1), 0, CPUID_EDX, 19, SHOW, .name = TEXT("mp") },
	{ EXT(0x1), 0, CPUID_EDX, 20, SHOW, .name = TEXT("nx"), .control = EFER_NXE },
	{ EXT(0x1), 0, CPUID_EDX, 22, SHOW, .name = TEXT("mmxext") },
	{ EXT(0x1), 0, CPUID_EDX, 25, SHOW, .name = TEXT("fxsr_opt"), .control = EFER_FFXSR },
	{ EXT(0x1), 0, CPUID_EDX, 26, SHOW, .name = TEXT("pdpe1gb") },
	{ EXT(0x1), 0, CPUID_EDX, 27, SHOW, .name = TEXT("rdtscp"), .reason = TEXT(R_CONTROL),
		.need = NEED_RDTSCP },
	{ EXT(0x1), 0, CPUID_EDX, 29, SHOW, .name = TEXT("lm"), .control = EFER_LME | EFER_LMA },
	{ EXT(0x1), 0, CPUID_EDX, 30, SHOW, .name = TEXT("3dnowext") },
	{ EXT(0x1), 0, CPUID_EDX, 31, SHOW, .name = TEXT("3dnow") },

	/* leaf 0x80000007: power management and RAS */
	{ EXT(0x7), 0, CPUID_EBX, 1, SHOW, .name = TEXT("succor"),
		.reason = TEXT("with `on_mce = inject`"),
	  .need = NEED_MACHINE_CHECKS },
	{ EXT(0x7), 0, CPUID_EDX, 8, SHOW, .name = TEXT("constant_tsc"),
	  .reason = TEXT("only where the host's TSCs agree"), .need = NEED_STABLE_TSC },

	/* leaf 0x80000008 */
	{ EXT(0x8), 0, CPUID_EBX, 0, SHOW, .name = TEXT("clzero") },
	{ EXT(0x8), 0, CPUID_EBX, 2, SHOW, .name = TEXT("xsaveerptr") },
	{ EXT(0x8), 0, CPUID_EBX, 9, SHOW, .name = TEXT("wbnoinvd") },
	{ EXT(0x8), 0, CPUID_EBX, 12, SHOW, .name = TEXT("amd_ibpb") },
	{ EXT(0x8), 0, CPUID_EBX, 14, SHOW, .name = TEXT("amd_ibrs") },
	{ EXT(0x8), 0, CPUID_EBX, 15, SHOW, .name = TEXT("amd_stibp") },
	{ EXT(0x8), 0, CPUID_EBX, 16, SHOW, .name = TEXT("ibrs_always_on") },
	{ EXT(0x8), 0, CPUID_EBX, 17, SHOW, .name = TEXT("amd_stibp_always_on") },
	{ EXT(0x8), 0, CPUID_EBX, 18, SHOW, .name = TEXT("ibrs_preferred") },
	{ EXT(0x8), 0, CPUID_EBX, 19, SHOW, .name = TEXT("ibrs_same_mode") },
	{ EXT(0x8), 0, CPUID_EBX, 20, FORCE, .name = TEXT("efer_lmsle_mbz"),
	  .reason = TEXT("no guest of an AMD CPU has EFER.LMSLE"), .need = NEED_AMD },
	{ EXT(0x8), 0, CPUID_EBX, 24, SHOW, .name = TEXT("amd_ssbd") },
	{ EXT(0x8), 0, CPUID_EBX, 26, SHOW, .name = TEXT("amd_ssb_no") },
	{ EXT(0x8), 0, CPUID_EBX, 28, SHOW, .name = TEXT("amd_psfd") },
	{ EXT(0x8), 0, CPUID_EBX, 29, SHOW, .name = TEXT("btc_no") },
	{ EXT(0x8), 0, CPUID_EBX, 30, SHOW, .name = TEXT("ibpb_ret") },

	/* leaf 0x8000001A: performance hints */
	{ EXT(0x1a), 0, CPUID_EAX, 0, SHOW, .name = TEXT("fp128") },
	{ EXT(0x1a), 0, CPUID_EAX, 1, SHOW, .name = TEXT("movu") },
	{ EXT(0x1a), 0, CPUID_EAX, 2, SHOW, .name = TEXT("fp256") },
	{ EXT(0x1a), 0, CPUID_EAX, 3, SHOW, .name = TEXT("fp512") },

	/* leaf 0x80000021 */
	{ EXT(0x21), 0, CPUID_EAX, 0, SHOW, .name = TEXT("no_nested_data_bp") },
	{ EXT(0x21), 0, CPUID_EAX, 1, SHOW, .name = TEXT("wrmsr_xx_base_ns") },
	{ EXT(0x21), 0, CPUID_EAX, 2, SHOW, .name = TEXT("lfence_rdtsc") },
	{ EXT(0x21), 0, CPUID_EAX, 5, SHOW, .name = TEXT("verw_clear") },
	{ EXT(0x21), 0, CPUID_EAX, 6, SHOW, .name = TEXT("null_sel_clr_base") },
	{ EXT(0x21), 0, CPUID_EAX, 8, SHOW, .name = TEXT("autoibrs"), .control = EFER_AUTOIBRS },
	{ EXT(0x21), 0, CPUID_EAX, 9, SHOW, .name = TEXT("no_smm_ctl_msr") },
	{ EXT(0x21), 0, CPUID_EAX, 10, SHOW, .name = TEXT("amd_fsrs") },
	{ EXT(0x21), 0, CPUID_EAX, 11, SHOW, .name = TEXT("amd_fsrc") },
	{ EXT(0x21), 0, CPUID_EAX, 14, SHOW, .name = TEXT("l2_tlb_size_x32") },
	{ EXT(0x21), 0, CPUID_EAX, 15, SHOW, .name = TEXT("amd_ermsb") },
	{ EXT(0x21), 0, CPUID_EAX, 16, SHOW, .name = TEXT("opcode_0f017_reclaim") },
	{ EXT(0x21), 0, CPUID_EAX, 18, SHOW, .name = TEXT("epsf") },
	{ EXT(0x21), 0, CPUID_EAX, 19, SHOW, .name = TEXT("fast_rep_scasb") },
	{ EXT(0x21), 0, CPUID_EAX, 20, SHOW, .name = TEXT("amd_prefetchi") },
	{ EXT(0x21), 0, CPUID_EAX, 21, SHOW, .name = TEXT("fp512_downgrade") },
	{ EXT(0x21), 0, CPUID_EAX, 23, SHOW, .name = TEXT("avx512_bmm"), AVX512 },
	{ EXT(0x21), 0, CPUID_EAX, 27, SHOW, .name = TEXT("sbpb") },
	{ EXT(0x21), 0, CPUID_EAX, 28, SHOW, .name = TEXT("ibpb_brtype") },
	{ EXT(0x21), 0, CPUID_EAX, 29, SHOW, .name = TEXT("srso_no") },
	{ EXT(0x21), 0, CPUID_EAX, 30, SHOW, .name = TEXT("srso_user_kernel_no") },
	{ EXT(0x21), 0, CPUID_ECX, 1, SHOW, .name = TEXT("tsa_sq_no") },
	{ EXT(0x21), 0, CPUID_ECX, 2, SHOW, .name = TEXT("tsa_l1_no") },
};
/* clang-format on */
const unsigned cpuid_rows_ext_count = ARRAY_SIZE(cpuid_rows_ext);
