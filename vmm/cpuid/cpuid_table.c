/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: CPUID policy, feature bits of the basic leaves (SDM vol. 2, CPUID; names as
 * in Linux' /proc/cpuinfo). A bit that no row names is hidden.
 */
#include "vmm/cpuid/cpuid_table.h"

/* Reasons that several rows share. */
#define R_DS "the debug store would write to host memory past stage 2"
#define R_LAPIC "the virtual APIC provides it on every CPU; with `interrupts = direct` as the CPU has it"
#define R_SGX "enclave memory is not given to guests"
#define R_CET "its shadow-stack and branch-tracking state is not switched"
#define R_MSR "its MSR is not offered"
#define R_FRED "FRED needs VMCS fields that are not used"

#define AVX .xstate = XSTATE_AVX
#define AVX512 .xstate = XSTATE_AVX512
#define AMX .xstate = XSTATE_AMX

const struct cpuid_row cpuid_rows_basic[] = {
	/* leaf 1 */
	{ 1, 0, CPUID_ECX, 0, SHOW, .name = TEXT("pni") },
	{ 1, 0, CPUID_ECX, 1, SHOW, .name = TEXT("pclmulqdq") },
	HIDDEN(1, 0, CPUID_ECX, 2, "dtes64", R_DS)
	HIDDEN(1, 0, CPUID_ECX, 3, "monitor", R_MWAIT)
	HIDDEN(1, 0, CPUID_ECX, 4, "ds_cpl", R_DS)
	HIDDEN(1, 0, CPUID_ECX, 5, "vmx", R_NESTED)
	HIDDEN(1, 0, CPUID_ECX, 6, "smx", "a measured launch would replace the hypervisor")
	HIDDEN(1, 0, CPUID_ECX, 7, "est", R_POWER)
	HIDDEN(1, 0, CPUID_ECX, 8, "tm2", R_POWER)
	{ 1, 0, CPUID_ECX, 9, SHOW, .name = TEXT("ssse3") },
	HIDDEN(1, 0, CPUID_ECX, 10, "cid", R_FIRMWARE)
	HIDDEN(1, 0, CPUID_ECX, 11, "sdbg", R_FIRMWARE)
	{ 1, 0, CPUID_ECX, 12, SHOW, .name = TEXT("fma"), AVX },
	{ 1, 0, CPUID_ECX, 13, SHOW, .name = TEXT("cx16") },
	HIDDEN(1, 0, CPUID_ECX, 14, "xtpr", R_FIRMWARE)
	HIDDEN(1, 0, CPUID_ECX, 15, "pdcm", R_PMU)
	{ 1, 0, CPUID_ECX, 17, SHOW, .name = TEXT("pcid"), .reason = TEXT(R_CONTROL), .need = NEED_PCID, .control = CR4_PCIDE },
	HIDDEN(1, 0, CPUID_ECX, 18, "dca", R_FIRMWARE)
	{ 1, 0, CPUID_ECX, 19, SHOW, .name = TEXT("sse4_1") },
	{ 1, 0, CPUID_ECX, 20, SHOW, .name = TEXT("sse4_2") },
	{ 1, 0, CPUID_ECX, 21, FORCE, .name = TEXT("x2apic"), .reason = TEXT(R_LAPIC) },
	{ 1, 0, CPUID_ECX, 22, SHOW, .name = TEXT("movbe") },
	{ 1, 0, CPUID_ECX, 23, SHOW, .name = TEXT("popcnt") },
	{ 1, 0, CPUID_ECX, 24, FORCE, .name = TEXT("tsc_deadline_timer"), .need = NEED_VIRTUAL_TIMER, .reason = TEXT(R_LAPIC) },
	{ 1, 0, CPUID_ECX, 25, SHOW, .name = TEXT("aes") },
	{ 1, 0, CPUID_ECX, 26, SHOW, .name = TEXT("xsave"), .control = CR4_OSXSAVE },
	{ 1, 0, CPUID_ECX, 27, DYNAMIC, .name = TEXT("osxsave"), .reason = TEXT("mirrors CR4.OSXSAVE") },
	{ 1, 0, CPUID_ECX, 28, SHOW, .name = TEXT("avx"), AVX },
	{ 1, 0, CPUID_ECX, 29, SHOW, .name = TEXT("f16c"), AVX },
	{ 1, 0, CPUID_ECX, 30, SHOW, .name = TEXT("rdrand") },
	{ 1, 0, CPUID_ECX, 31, FORCE, .name = TEXT("hypervisor"), .reason = TEXT("this is a virtual machine") },
	{ 1, 0, CPUID_EDX, 0, SHOW, .name = TEXT("fpu") },
	{ 1, 0, CPUID_EDX, 1, SHOW, .name = TEXT("vme"), .control = CR4_VME | CR4_PVI },
	{ 1, 0, CPUID_EDX, 2, SHOW, .name = TEXT("de"), .control = CR4_DE },
	{ 1, 0, CPUID_EDX, 3, SHOW, .name = TEXT("pse"), .control = CR4_PSE },
	{ 1, 0, CPUID_EDX, 4, SHOW, .name = TEXT("tsc"), .control = CR4_TSD },
	{ 1, 0, CPUID_EDX, 5, SHOW, .name = TEXT("msr") },
	{ 1, 0, CPUID_EDX, 6, SHOW, .name = TEXT("pae"), .control = CR4_PAE },
	{ 1, 0, CPUID_EDX, 7, SHOW, .name = TEXT("mce"), .control = CR4_MCE },
	{ 1, 0, CPUID_EDX, 8, SHOW, .name = TEXT("cx8") },
	{ 1, 0, CPUID_EDX, 9, DYNAMIC, .name = TEXT("apic"), .reason = TEXT("mirrors IA32_APIC_BASE.EN") },
	{ 1, 0, CPUID_EDX, 11, SHOW, .name = TEXT("sep") },
	{ 1, 0, CPUID_EDX, 12, SHOW, .name = TEXT("mtrr") },
	{ 1, 0, CPUID_EDX, 13, SHOW, .name = TEXT("pge"), .control = CR4_PGE },
	{ 1, 0, CPUID_EDX, 14, SHOW, .name = TEXT("mca") },
	{ 1, 0, CPUID_EDX, 15, SHOW, .name = TEXT("cmov") },
	{ 1, 0, CPUID_EDX, 16, SHOW, .name = TEXT("pat") },
	{ 1, 0, CPUID_EDX, 17, SHOW, .name = TEXT("pse36") },
	HIDDEN(1, 0, CPUID_EDX, 18, "pn", R_FIRMWARE)
	{ 1, 0, CPUID_EDX, 19, SHOW, .name = TEXT("clflush") },
	HIDDEN(1, 0, CPUID_EDX, 21, "dts", R_DS)
	HIDDEN(1, 0, CPUID_EDX, 22, "acpi", R_POWER)
	{ 1, 0, CPUID_EDX, 23, SHOW, .name = TEXT("mmx") },
	{ 1, 0, CPUID_EDX, 24, SHOW, .name = TEXT("fxsr"), .control = CR4_OSFXSR },
	{ 1, 0, CPUID_EDX, 25, SHOW, .name = TEXT("sse"), .control = CR4_OSXMMEXCPT },
	{ 1, 0, CPUID_EDX, 26, SHOW, .name = TEXT("sse2") },
	{ 1, 0, CPUID_EDX, 27, SHOW, .name = TEXT("ss") },
	{ 1, 0, CPUID_EDX, 28, SHOW, .name = TEXT("ht") },
	HIDDEN(1, 0, CPUID_EDX, 29, "tm", R_POWER)
	HIDDEN(1, 0, CPUID_EDX, 31, "pbe", R_POWER)

	/* leaf 6: thermal and power management */
	HIDDEN(6, 0, CPUID_EAX, 0, "dtherm", R_POWER) HIDDEN(6, 0, CPUID_EAX, 1, "ida", R_POWER)
	{ 6, 0, CPUID_EAX, 2, FORCE, .name = TEXT("arat"), .need = NEED_VIRTUAL_TIMER, .reason = TEXT(R_LAPIC) },
	HIDDEN(6, 0, CPUID_EAX, 4, "pln", R_POWER) HIDDEN(6, 0, CPUID_EAX, 5, "ecmd", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 6, "pts", R_POWER) HIDDEN(6, 0, CPUID_EAX, 7, "hwp", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 8, "hwp_notify", R_POWER) HIDDEN(6, 0, CPUID_EAX, 9, "hwp_act_window", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 10, "hwp_epp", R_POWER) HIDDEN(6, 0, CPUID_EAX, 11, "hwp_pkg_req", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 13, "hdc", R_POWER) HIDDEN(6, 0, CPUID_EAX, 14, "itbm3", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 15, "hwp_highest_change", R_POWER) HIDDEN(6, 0, CPUID_EAX, 16, "hwp_peci", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 17, "hwp_flexible", R_POWER) HIDDEN(6, 0, CPUID_EAX, 18, "hwp_fast_req", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 19, "hfi", R_POWER) HIDDEN(6, 0, CPUID_EAX, 20, "hwp_ignore_idle", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 22, "hwp_ctl", R_POWER) HIDDEN(6, 0, CPUID_EAX, 23, "thread_director", R_POWER)
	HIDDEN(6, 0, CPUID_EAX, 24, "therm_interrupt_hfi", R_POWER) HIDDEN(6, 0, CPUID_ECX, 0, "aperfmperf", R_POWER)
	HIDDEN(6, 0, CPUID_ECX, 1, "acnt2", R_POWER) HIDDEN(6, 0, CPUID_ECX, 3, "epb", R_POWER)

	/* leaf 7: structured extended features */
	{ 7, 0, CPUID_EBX, 0, SHOW, .name = TEXT("fsgsbase"), .control = CR4_FSGSBASE },
	{ 7, 0, CPUID_EBX, 1, SHOW, .name = TEXT("tsc_adjust") },
	HIDDEN(7, 0, CPUID_EBX, 2, "sgx", R_SGX)
	{ 7, 0, CPUID_EBX, 3, SHOW, .name = TEXT("bmi1") },
	{ 7, 0, CPUID_EBX, 4, SHOW, .name = TEXT("hle") },
	{ 7, 0, CPUID_EBX, 5, SHOW, .name = TEXT("avx2"), AVX },
	{ 7, 0, CPUID_EBX, 6, SHOW, .name = TEXT("fdp_excptn_only") },
	{ 7, 0, CPUID_EBX, 7, SHOW, .name = TEXT("smep"), .control = CR4_SMEP },
	{ 7, 0, CPUID_EBX, 8, SHOW, .name = TEXT("bmi2") },
	{ 7, 0, CPUID_EBX, 9, SHOW, .name = TEXT("erms") },
	{ 7, 0, CPUID_EBX, 10, SHOW, .name = TEXT("invpcid"), .reason = TEXT(R_CONTROL), .need = NEED_INVPCID },
	{ 7, 0, CPUID_EBX, 11, SHOW, .name = TEXT("rtm") },
	HIDDEN(7, 0, CPUID_EBX, 12, "cqm", R_RDT)
	{ 7, 0, CPUID_EBX, 13, SHOW, .name = TEXT("zero_fcs_fds") },
	HIDDEN(7, 0, CPUID_EBX, 14, "mpx", "removed from CPUs and from Linux; BNDCFGS is not switched")
	HIDDEN(7, 0, CPUID_EBX, 15, "rdt_a", R_RDT)
	{ 7, 0, CPUID_EBX, 16, SHOW, .name = TEXT("avx512f"), AVX512 },
	{ 7, 0, CPUID_EBX, 17, SHOW, .name = TEXT("avx512dq"), AVX512 },
	{ 7, 0, CPUID_EBX, 18, SHOW, .name = TEXT("rdseed") },
	{ 7, 0, CPUID_EBX, 19, SHOW, .name = TEXT("adx") },
	{ 7, 0, CPUID_EBX, 20, SHOW, .name = TEXT("smap"), .control = CR4_SMAP },
	{ 7, 0, CPUID_EBX, 21, SHOW, .name = TEXT("avx512ifma"), AVX512 },
	{ 7, 0, CPUID_EBX, 23, SHOW, .name = TEXT("clflushopt") },
	{ 7, 0, CPUID_EBX, 24, SHOW, .name = TEXT("clwb") },
	HIDDEN(7, 0, CPUID_EBX, 25, "intel_pt", "traces to host-physical addresses; its MSRs are not switched")
	{ 7, 0, CPUID_EBX, 26, SHOW, .name = TEXT("avx512pf"), AVX512 },
	{ 7, 0, CPUID_EBX, 27, SHOW, .name = TEXT("avx512er"), AVX512 },
	{ 7, 0, CPUID_EBX, 28, SHOW, .name = TEXT("avx512cd"), AVX512 },
	{ 7, 0, CPUID_EBX, 29, SHOW, .name = TEXT("sha_ni") },
	{ 7, 0, CPUID_EBX, 30, SHOW, .name = TEXT("avx512bw"), AVX512 },
	{ 7, 0, CPUID_EBX, 31, SHOW, .name = TEXT("avx512vl"), AVX512 },
	{ 7, 0, CPUID_ECX, 0, SHOW, .name = TEXT("prefetchwt1") },
	{ 7, 0, CPUID_ECX, 1, SHOW, .name = TEXT("avx512vbmi"), AVX512 },
	{ 7, 0, CPUID_ECX, 2, SHOW, .name = TEXT("umip"), .control = CR4_UMIP },
	{ 7, 0, CPUID_ECX, 3, SHOW, .name = TEXT("pku"), .xstate = XSTATE_PKRU, .control = CR4_PKE },
	{ 7, 0, CPUID_ECX, 4, DYNAMIC, .name = TEXT("ospke"), .reason = TEXT("mirrors CR4.PKE") },
	{ 7, 0, CPUID_ECX, 5, SHOW, .name = TEXT("waitpkg"), .reason = TEXT(R_CONTROL), .need = NEED_WAITPKG },
	{ 7, 0, CPUID_ECX, 6, SHOW, .name = TEXT("avx512_vbmi2"), AVX512 },
	HIDDEN(7, 0, CPUID_ECX, 7, "shstk", R_CET)
	{ 7, 0, CPUID_ECX, 8, SHOW, .name = TEXT("gfni") },
	{ 7, 0, CPUID_ECX, 9, SHOW, .name = TEXT("vaes"), AVX },
	{ 7, 0, CPUID_ECX, 10, SHOW, .name = TEXT("vpclmulqdq"), AVX },
	{ 7, 0, CPUID_ECX, 11, SHOW, .name = TEXT("avx512_vnni"), AVX512 },
	{ 7, 0, CPUID_ECX, 12, SHOW, .name = TEXT("avx512_bitalg"), AVX512 },
	HIDDEN(7, 0, CPUID_ECX, 13, "tme", "memory encryption keys are the host's")
	{ 7, 0, CPUID_ECX, 14, SHOW, .name = TEXT("avx512_vpopcntdq"), AVX512 },
	HIDDEN(7, 0, CPUID_ECX, 16, "la57", "of no use while guest-physical addresses have at most 48 bits")
	{ 7, 0, CPUID_ECX, 22, SHOW, .name = TEXT("rdpid"), .reason = TEXT(R_CONTROL), .need = NEED_RDTSCP },
	HIDDEN(7, 0, CPUID_ECX, 23, "aeskle", "Key Locker keys cannot be switched")
	HIDDEN(7, 0, CPUID_ECX, 24, "bus_lock_detect", "DEBUGCTL is virtual and has no effect")
	{ 7, 0, CPUID_ECX, 25, SHOW, .name = TEXT("cldemote") },
	{ 7, 0, CPUID_ECX, 27, SHOW, .name = TEXT("movdiri") },
	{ 7, 0, CPUID_ECX, 28, SHOW, .name = TEXT("movdir64b") },
	HIDDEN(7, 0, CPUID_ECX, 29, "enqcmd", "needs PASID translation, which a VM has not")
	HIDDEN(7, 0, CPUID_ECX, 30, "sgx_lc", R_SGX)
	HIDDEN(7, 0, CPUID_ECX, 31, "pks", "IA32_PKRS is not switched")
	HIDDEN(7, 0, CPUID_EDX, 1, "sgx_keys", R_SGX)
	{ 7, 0, CPUID_EDX, 2, SHOW, .name = TEXT("avx512_4vnniw"), AVX512 },
	{ 7, 0, CPUID_EDX, 3, SHOW, .name = TEXT("avx512_4fmaps"), AVX512 },
	{ 7, 0, CPUID_EDX, 4, SHOW, .name = TEXT("fsrm") },
	HIDDEN(7, 0, CPUID_EDX, 5, "uintr", "user interrupts need posted-interrupt state that is not switched")
	{ 7, 0, CPUID_EDX, 8, SHOW, .name = TEXT("avx512_vp2intersect"), AVX512 },
	HIDDEN(7, 0, CPUID_EDX, 9, "srbds_ctrl", "IA32_MCU_OPT_CTRL is set for the whole core by the host")
	{ 7, 0, CPUID_EDX, 10, SHOW, .name = TEXT("md_clear") },
	{ 7, 0, CPUID_EDX, 11, SHOW, .name = TEXT("rtm_always_abort") },
	HIDDEN(7, 0, CPUID_EDX, 13, "tsx_force_abort", R_PMU)
	{ 7, 0, CPUID_EDX, 14, SHOW, .name = TEXT("serialize") },
	{ 7, 0, CPUID_EDX, 15, SHOW, .name = TEXT("hybrid_cpu") },
	{ 7, 0, CPUID_EDX, 16, SHOW, .name = TEXT("tsxldtrk") },
	HIDDEN(7, 0, CPUID_EDX, 18, "pconfig", "memory encryption keys are the host's")
	HIDDEN(7, 0, CPUID_EDX, 19, "arch_lbr", R_PMU)
	HIDDEN(7, 0, CPUID_EDX, 20, "ibt", R_CET)
	{ 7, 0, CPUID_EDX, 22, SHOW, .name = TEXT("amx_bf16"), AMX },
	{ 7, 0, CPUID_EDX, 23, SHOW, .name = TEXT("avx512_fp16"), AVX512 },
	{ 7, 0, CPUID_EDX, 24, SHOW, .name = TEXT("amx_tile"), AMX },
	{ 7, 0, CPUID_EDX, 25, SHOW, .name = TEXT("amx_int8"), AMX },
	{ 7, 0, CPUID_EDX, 26, SHOW, .name = TEXT("spec_ctrl") },
	{ 7, 0, CPUID_EDX, 27, SHOW, .name = TEXT("intel_stibp") },
	{ 7, 0, CPUID_EDX, 28, SHOW, .name = TEXT("flush_l1d") },
	{ 7, 0, CPUID_EDX, 29, SHOW, .name = TEXT("arch_capabilities"),
	  .reason = TEXT("needs a readable MSR 0x10a"), .need = NEED_ARCH_CAPABILITIES },
	HIDDEN(7, 0, CPUID_EDX, 30, "core_capabilities", "split-lock detection is set for the whole core by the host")
	{ 7, 0, CPUID_EDX, 31, SHOW, .name = TEXT("spec_ctrl_ssbd") },
	{ 7, 1, CPUID_EAX, 0, SHOW, .name = TEXT("sha512"), AVX },
	{ 7, 1, CPUID_EAX, 1, SHOW, .name = TEXT("sm3"), AVX },
	{ 7, 1, CPUID_EAX, 2, SHOW, .name = TEXT("sm4"), AVX },
	{ 7, 1, CPUID_EAX, 3, SHOW, .name = TEXT("rao_int") },
	{ 7, 1, CPUID_EAX, 4, SHOW, .name = TEXT("avx_vnni"), AVX },
	{ 7, 1, CPUID_EAX, 5, SHOW, .name = TEXT("avx512_bf16"), AVX512 },
	HIDDEN(7, 1, CPUID_EAX, 6, "lass", "CR4.LASS is not offered")
	{ 7, 1, CPUID_EAX, 7, SHOW, .name = TEXT("cmpccxadd") },
	HIDDEN(7, 1, CPUID_EAX, 8, "arch_perfmon_ext", R_PMU)
	{ 7, 1, CPUID_EAX, 10, SHOW, .name = TEXT("fzrm") },
	{ 7, 1, CPUID_EAX, 11, SHOW, .name = TEXT("fsrs") },
	{ 7, 1, CPUID_EAX, 12, SHOW, .name = TEXT("fsrc") },
	HIDDEN(7, 1, CPUID_EAX, 17, "fred", R_FRED)
	HIDDEN(7, 1, CPUID_EAX, 18, "lkgs", R_FRED)
	HIDDEN(7, 1, CPUID_EAX, 19, "wrmsrns", R_FRED)
	HIDDEN(7, 1, CPUID_EAX, 20, "nmi_src", R_FRED)
	{ 7, 1, CPUID_EAX, 21, SHOW, .name = TEXT("amx_fp16"), AMX },
	HIDDEN(7, 1, CPUID_EAX, 22, "hreset", R_MSR)
	{ 7, 1, CPUID_EAX, 23, SHOW, .name = TEXT("avx_ifma"), AVX },
	HIDDEN(7, 1, CPUID_EAX, 26, "lam", "CR3 and CR4 bits of linear-address masking are not offered")
	HIDDEN(7, 1, CPUID_EAX, 27, "msrlist", "one instruction would reach many MSRs past the MSR policy")
	HIDDEN(7, 1, CPUID_EAX, 30, "invd_disable", R_FIRMWARE)
	{ 7, 1, CPUID_EAX, 31, SHOW, .name = TEXT("movrs") },
	HIDDEN(7, 1, CPUID_EBX, 0, "intel_ppin", "the processor's serial number is the host's")
	HIDDEN(7, 1, CPUID_EBX, 1, "tse", "storage encryption keys are the host's")
	HIDDEN(7, 1, CPUID_EBX, 3, "cpuid_maxval_lim_rmv", "IA32_MISC_ENABLE is virtual and has no effect")
	HIDDEN(7, 1, CPUID_ECX, 0, "asym_rdt_m", R_RDT)
	HIDDEN(7, 1, CPUID_ECX, 1, "asym_rdt_a", R_RDT)
	HIDDEN(7, 1, CPUID_ECX, 2, "legacy_reduced_isa", "a guest starts in legacy modes")
	HIDDEN(7, 1, CPUID_ECX, 4, "sipi64", "the virtual APIC starts a CPU in real mode")
	HIDDEN(7, 1, CPUID_ECX, 5, "msr_imm", "immediate forms of RDMSR and WRMSRNS are not decoded")
	{ 7, 1, CPUID_EDX, 4, SHOW, .name = TEXT("avx_vnni_int8"), AVX },
	{ 7, 1, CPUID_EDX, 5, SHOW, .name = TEXT("avx_ne_convert"), AVX },
	{ 7, 1, CPUID_EDX, 8, SHOW, .name = TEXT("amx_complex"), AMX },
	{ 7, 1, CPUID_EDX, 10, SHOW, .name = TEXT("avx_vnni_int16"), AVX },
	HIDDEN(7, 1, CPUID_EDX, 13, "utmr", "the user timer's MSR is not switched")
	{ 7, 1, CPUID_EDX, 14, SHOW, .name = TEXT("prefetchi") },
	HIDDEN(7, 1, CPUID_EDX, 15, "user_msr", "user-mode MSR accesses would go past the MSR policy")
	HIDDEN(7, 1, CPUID_EDX, 17, "uiret_uif", "goes with user interrupts")
	HIDDEN(7, 1, CPUID_EDX, 18, "cet_sss", R_CET)
	{ 7, 1, CPUID_EDX, 19, SHOW, .name = TEXT("avx10"), AVX512 },
	HIDDEN(7, 1, CPUID_EDX, 21, "apx_f", "its registers are not switched and REX2 is not decoded")
	HIDDEN(7, 1, CPUID_EDX, 23, "mwait_leaf5", R_MWAIT)
	HIDDEN(7, 1, CPUID_EDX, 24, "slsm", R_FIRMWARE)
	{ 7, 2, CPUID_EDX, 0, SHOW, .name = TEXT("psfd") },
	{ 7, 2, CPUID_EDX, 1, SHOW, .name = TEXT("ipred_ctrl") },
	{ 7, 2, CPUID_EDX, 2, SHOW, .name = TEXT("rrsba_ctrl") },
	{ 7, 2, CPUID_EDX, 3, SHOW, .name = TEXT("ddpd_u") },
	{ 7, 2, CPUID_EDX, 4, SHOW, .name = TEXT("bhi_ctrl") },
	{ 7, 2, CPUID_EDX, 5, SHOW, .name = TEXT("mcdt_no") },
	HIDDEN(7, 2, CPUID_EDX, 6, "uclock_disable", "its MSR is set for the whole core by the host")
	{ 7, 2, CPUID_EDX, 7, SHOW, .name = TEXT("monitor_mitg_no") },

	/* leaf 0xD: XSAVE */
	{ 0xd, 1, CPUID_EAX, 0, SHOW, .name = TEXT("xsaveopt") },
	{ 0xd, 1, CPUID_EAX, 1, SHOW, .name = TEXT("xsavec") },
	{ 0xd, 1, CPUID_EAX, 2, SHOW, .name = TEXT("xgetbv1") },
	{ 0xd, 1, CPUID_EAX, 3, SHOW, .name = TEXT("xsaves"), .reason = TEXT(R_CONTROL), .need = NEED_XSAVES },
	{ 0xd, 1, CPUID_EAX, 4, SHOW, .name = TEXT("xfd"), AMX },
};
const unsigned cpuid_rows_basic_count = ARRAY_SIZE(cpuid_rows_basic);
