/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Architectural x86-64 constants that host and guest side share: control
 * registers, RFLAGS, MSR numbers, exception vectors, general registers.
 * Sources: Intel SDM volumes 3 and 4, AMD APM volume 2.
 */
#ifndef MARGAY_X86_H
#define MARGAY_X86_H

#include <margay/types.h>

/* General registers in the order of their instruction encoding (SDM vol. 2, table 2-4). */
enum gpr {
	GPR_RAX,
	GPR_RCX,
	GPR_RDX,
	GPR_RBX,
	GPR_RSP,
	GPR_RBP,
	GPR_RSI,
	GPR_RDI,
	GPR_R8,
	GPR_R9,
	GPR_R10,
	GPR_R11,
	GPR_R12,
	GPR_R13,
	GPR_R14,
	GPR_R15,
	GPR_COUNT
};

/* Segment registers in the order of their instruction encoding, then the two system ones. */
enum seg { SEG_ES, SEG_CS, SEG_SS, SEG_DS, SEG_FS, SEG_GS, SEG_LDTR, SEG_TR, SEG_COUNT };

/* A segment register with its hidden part. attr: SDM vol. 3, table 25-2 (VMX access rights). */
struct segment {
	u16 selector;
	u32 attr;
	u32 limit;
	u64 base;
};
#define SEG_ATTR_TYPE 0xfu
#define SEG_ATTR_S BIT(4)
#define SEG_ATTR_DPL_SHIFT 5
#define SEG_ATTR_P BIT(7)
#define SEG_ATTR_L BIT(13)
#define SEG_ATTR_DB BIT(14)
#define SEG_ATTR_G BIT(15)
#define SEG_ATTR_UNUSABLE BIT(16)

/* GDTR and IDTR. */
struct desc_table {
	u64 base;
	u16 limit;
};

#define CR0_PE BIT(0)
#define CR0_MP BIT(1)
#define CR0_EM BIT(2)
#define CR0_TS BIT(3)
#define CR0_ET BIT(4)
#define CR0_NE BIT(5)
#define CR0_WP BIT(16)
#define CR0_AM BIT(18)
#define CR0_NW BIT(29)
#define CR0_CD BIT(30)
#define CR0_PG BIT(31)
#define CR0_KNOWN \
	(CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_ET | CR0_NE | CR0_WP | CR0_AM | CR0_NW | CR0_CD | \
	 CR0_PG)

#define CR4_VME BIT(0)
#define CR4_PVI BIT(1)
#define CR4_TSD BIT(2)
#define CR4_DE BIT(3)
#define CR4_PSE BIT(4)
#define CR4_PAE BIT(5)
#define CR4_MCE BIT(6)
#define CR4_PGE BIT(7)
#define CR4_PCE BIT(8)
#define CR4_OSFXSR BIT(9)
#define CR4_OSXMMEXCPT BIT(10)
#define CR4_UMIP BIT(11)
#define CR4_LA57 BIT(12)
#define CR4_VMXE BIT(13)
#define CR4_FSGSBASE BIT(16)
#define CR4_PCIDE BIT(17)
#define CR4_OSXSAVE BIT(18)
#define CR4_SMEP BIT(20)
#define CR4_SMAP BIT(21)
#define CR4_PKE BIT(22)
#define CR4_CET BIT(23)

#define EFER_SCE BIT(0)
#define EFER_LME BIT(8)
#define EFER_LMA BIT(10)
#define EFER_NXE BIT(11)
#define EFER_SVME BIT(12)
#define EFER_LMSLE BIT(13)
#define EFER_FFXSR BIT(14)
#define EFER_TCE BIT(15)
#define EFER_AUTOIBRS BIT(21)

#define RFLAGS_CF BIT(0)
#define RFLAGS_FIXED BIT(1)
#define RFLAGS_PF BIT(2)
#define RFLAGS_AF BIT(4)
#define RFLAGS_ZF BIT(6)
#define RFLAGS_SF BIT(7)
#define RFLAGS_TF BIT(8)
#define RFLAGS_IF BIT(9)
#define RFLAGS_DF BIT(10)
#define RFLAGS_OF BIT(11)
#define RFLAGS_IOPL (3ull << 12)
#define RFLAGS_NT BIT(14)
#define RFLAGS_RF BIT(16)
#define RFLAGS_VM BIT(17)
#define RFLAGS_AC BIT(18)

enum vector {
	VEC_DE = 0,
	VEC_DB = 1,
	VEC_NMI = 2,
	VEC_BP = 3,
	VEC_OF = 4,
	VEC_BR = 5,
	VEC_UD = 6,
	VEC_NM = 7,
	VEC_DF = 8,
	VEC_TS = 10,
	VEC_NP = 11,
	VEC_SS = 12,
	VEC_GP = 13,
	VEC_PF = 14,
	VEC_MF = 16,
	VEC_AC = 17,
	VEC_MC = 18,
	VEC_XM = 19,
	VEC_VE = 20,
	VEC_CP = 21,
	VEC_SX = 30,
};

/* Page-fault error code (SDM vol. 3, 4.7). */
#define PFERR_P BIT(0)
#define PFERR_W BIT(1)
#define PFERR_U BIT(2)
#define PFERR_RSVD BIT(3)
#define PFERR_I BIT(4)

/* DR6 and DR7 (SDM vol. 3, 18.2.3 and 18.2.4) */
#define DR6_NONE 0xffff0ff0ull /* no condition was met */
#define DR6_BS BIT(14)
/* RTM, BLD: 0 says that it was so; an exit's qualification says it by 1 */
#define DR6_ACTIVE_LOW (BIT(16) | BIT(11))
/*
 * What a #DB makes of it that met these conditions: B0-B3 are its own, the others only software
 * clears (18.2.3).
 */
static inline u64 dr6_after(u64 dr6, u64 met)
{
	return ((dr6 & ~0xfull) | DR6_ACTIVE_LOW | met) ^ (met & DR6_ACTIVE_LOW);
}
#define DR7_FIXED BIT(10)
#define DR7_ENABLED 0xff /* L0, G0 to L3, G3 */
#define DR7_RW(dr7, n) ((dr7) >> (16 + 4 * (n)) & 3)
#define DR7_LEN(dr7, n) ((dr7) >> (18 + 4 * (n)) & 3)

/* Long-mode page-table entry bits (SDM vol. 3, 4.5). */
#define PTE_P BIT(0)
#define PTE_W BIT(1)
#define PTE_U BIT(2)
#define PTE_PWT BIT(3)
#define PTE_PCD BIT(4)
#define PTE_A BIT(5)
#define PTE_D BIT(6)
#define PTE_PS BIT(7)
#define PTE_PAT BIT(7) /* of a 4 KiB leaf; bit 12 of a larger one */
#define PTE_NX BIT(63)
#define PTE_ADDR 0x000ffffffffff000ull

/* MSRs, by the names of SDM vol. 4 and APM vol. 2 appendix A. */
#define MSR_TSC 0x10
#define MSR_PLATFORM_ID 0x17
#define MSR_APIC_BASE 0x1b
#define MSR_FEATURE_CONTROL 0x3a
#define MSR_TSC_ADJUST 0x3b
#define MSR_SPEC_CTRL 0x48
#define MSR_PRED_CMD 0x49
#define MSR_BIOS_UPDT_TRIG 0x79
#define MSR_BIOS_SIGN_ID 0x8b
#define MSR_UMWAIT_CONTROL 0xe1
#define MSR_PKG_CST_CONFIG_CONTROL 0xe2
#define MSR_MTRRCAP 0xfe
#define MSR_ARCH_CAPABILITIES 0x10a
#define MSR_FLUSH_CMD 0x10b
#define MSR_MCU_OPT_CTRL 0x123
#define MSR_SYSENTER_CS 0x174
#define MSR_SYSENTER_ESP 0x175
#define MSR_SYSENTER_EIP 0x176
#define MSR_MCG_CAP 0x179
#define MSR_MCG_STATUS 0x17a
#define MSR_MCG_CTL 0x17b
#define MSR_PERF_SELECT0 0x186
#define MSR_MISC_ENABLE 0x1a0
#define MSR_DEBUGCTL 0x1d9
#define MSR_POWER_CTL 0x1fc
#define MSR_MTRR_PHYSBASE0 0x200
#define MSR_MTRR_FIX64K_00000 0x250
#define MSR_MTRR_FIX16K_80000 0x258
#define MSR_MTRR_FIX16K_A0000 0x259
#define MSR_MTRR_FIX4K_C0000 0x268
#define MSR_MTRR_FIX4K_F8000 0x26f
#define MSR_PAT 0x277
#define MSR_MC0_CTL2 0x280
#define MSR_MTRR_DEF_TYPE 0x2ff
#define MSR_MC0_CTL 0x400
#define MSR_MCG_EXT_CTL 0x4d0
#define MSR_SMCA_MC0 0xc0002000
#define MSR_L3_QOS_CFG 0xc81
#define MSR_L2_QOS_CFG 0xc82
#define MSR_QM_EVTSEL 0xc8d
#define MSR_QM_CTR 0xc8e
#define MSR_PQR_ASSOC 0xc8f
#define MSR_MBA_THROTTLE 0xd50
#define MSR_AMD_BW_CONTROL 0xc0000200
#define MSR_VMX_BASIC 0x480
#define MSR_VMX_PINBASED_CTLS 0x481
#define MSR_VMX_PROCBASED_CTLS 0x482
#define MSR_VMX_EXIT_CTLS 0x483
#define MSR_VMX_ENTRY_CTLS 0x484
#define MSR_VMX_CR0_FIXED0 0x486
#define MSR_VMX_CR4_FIXED0 0x488
#define MSR_VMX_CR4_FIXED1 0x489
#define MSR_VMX_PROCBASED_CTLS2 0x48b
#define MSR_VMX_EPT_VPID_CAP 0x48c
#define MSR_VMX_TRUE_PINBASED_CTLS 0x48d
#define MSR_VMX_TRUE_PROCBASED_CTLS 0x48e
#define MSR_VMX_TRUE_EXIT_CTLS 0x48f
#define MSR_VMX_TRUE_ENTRY_CTLS 0x490
#define MSR_TSC_DEADLINE 0x6e0
#define MSR_X2APIC_FIRST 0x800
#define MSR_X2APIC_LAST 0x8ff
#define MSR_XSS 0xda0
#define MSR_XFD 0x1c4
#define MSR_XFD_ERR 0x1c5
#define MSR_EFER 0xc0000080
#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_CSTAR 0xc0000083
#define MSR_SFMASK 0xc0000084
#define MSR_FS_BASE 0xc0000100
#define MSR_GS_BASE 0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102
#define MSR_TSC_AUX 0xc0000103
#define MSR_AMD_CORE_SELECT0 0xc0010200 /* its counter is the next one */
#define MSR_AMD_PERF_CTL0 0xc0010000 /* to PERF_CTL3, then PERF_CTR0 to PERF_CTR3 */
#define MSR_AMD_SYSCFG 0xc0010010
#define MSR_AMD_HWCR 0xc0010015
#define MSR_AMD_NB_CFG 0xc001001f
#define MSR_AMD_PATCH_LOADER 0xc0010020
#define MSR_AMD_INT_PENDING 0xc0010055
#define MSR_AMD_VM_CR 0xc0010114
#define MSR_AMD_VM_HSAVE_PA 0xc0010117
#define MSR_AMD_LS_CFG 0xc0011020
#define MSR_AMD_DC_CFG 0xc0011022
#define MSR_AMD_FP_CFG 0xc0011028
#define MSR_AMD_DE_CFG 0xc0011029
#define MSR_AMD_BU_CFG2 0xc001102a
#define MSR_AMD_BP_CFG 0xc001102e
#define MSR_KVM_WALL_CLOCK 0x4b564d00
#define MSR_KVM_SYSTEM_TIME 0x4b564d01
#define MSR_KVM_POLL_CONTROL 0x4b564d05

#define APIC_BASE_BSP BIT(8)
#define APIC_BASE_EXTD BIT(10)
#define APIC_BASE_EN BIT(11)

/* Memory types as in PAT, MTRRs and EPT (SDM vol. 3, table 12-2). */
enum memtype {
	MEMTYPE_UC = 0,
	MEMTYPE_WC = 1,
	MEMTYPE_WT = 4,
	MEMTYPE_WP = 5,
	MEMTYPE_WB = 6,
	MEMTYPE_UC_MINUS = 7
};
#define PAT_RESET 0x0007040600070406ull
#define PAT_HOST 0x0107040600070406ull /* the last entry is WC; all below it as at reset */

#define XCR0_X87 BIT(0)
#define XCR0_SSE BIT(1)
#define XCR0_AVX BIT(2)
#define XCR0_OPMASK BIT(5)
#define XCR0_ZMM_HI256 BIT(6)
#define XCR0_HI16_ZMM BIT(7)
#define XCR0_PKRU BIT(9)
#define XCR0_TILECFG BIT(17)
#define XCR0_TILEDATA BIT(18)

struct cpuid_regs {
	u32 eax;
	u32 ebx;
	u32 ecx;
	u32 edx;
};

/* Machine checks (SDM vol. 3, 16.3; APM vol. 2, 9.3). */
#define MCG_CAP_COUNT(cap) ((unsigned)(cap) & 0xff)
#define MCG_CAP_CTL BIT(8) /* MCG_CTL is there */
#define MCG_CAP_CMCI BIT(10)
#define MCG_CAP_SER BIT(24) /* errors that software recovers from: Intel's S and AR bits */
#define MCG_CAP_LMCE BIT(27) /* what concerns one CPU can be told to that one only */
#define MCG_STATUS_RIPV BIT(0) /* what was interrupted can go on where it was */
#define MCG_STATUS_EIPV BIT(1) /* the error is that instruction's */
#define MCG_STATUS_MCIP BIT(2) /* another one now shuts the CPU down */
#define MCG_STATUS_LMCE BIT(3) /* it was told to this CPU alone */
#define MCG_EXT_CTL_LMCE BIT(0)

#define MCI_STATUS_DEFERRED BIT(44) /* AMD: poison that nobody has used yet */
#define MCI_STATUS_AR BIT(55) /* Intel: this CPU cannot go on with what it did */
#define MCI_STATUS_S BIT(56) /* Intel: was told by a machine check */
#define MCI_STATUS_PCC BIT(57) /* the processor's own state is lost */
#define MCI_STATUS_ADDRV BIT(58)
#define MCI_STATUS_MISCV BIT(59)
#define MCI_STATUS_EN BIT(60)
#define MCI_STATUS_UC BIT(61)
#define MCI_STATUS_OVER BIT(62) /* errors before it are lost */
#define MCI_STATUS_VAL BIT(63)

#endif
