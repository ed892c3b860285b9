/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The virtual machine control block: APM vol. 2, appendix B (tables B-1 and B-2), and its bits by
 * chapter 15.
 */
#ifndef SVM_VMCB_H
#define SVM_VMCB_H

#include <margay/x86.h>

/* intercept_misc1 (offset 0x00c) */
enum {
	SVM_INTERCEPT_INTR = 1u << 0,
	SVM_INTERCEPT_NMI = 1u << 1,
	SVM_INTERCEPT_INIT = 1u << 3,
	SVM_INTERCEPT_VINTR = 1u << 4,
	SVM_INTERCEPT_RDPMC = 1u << 15,
	SVM_INTERCEPT_CPUID = 1u << 18,
	SVM_INTERCEPT_IRET = 1u << 20,
	SVM_INTERCEPT_SWINT = 1u << 21,
	SVM_INTERCEPT_INVD = 1u << 22,
	SVM_INTERCEPT_HLT = 1u << 24,
	SVM_INTERCEPT_INVLPGA = 1u << 26,
	SVM_INTERCEPT_IOIO = 1u << 27,
	SVM_INTERCEPT_MSR = 1u << 28,
	SVM_INTERCEPT_SHUTDOWN = 1u << 31,
};

/* intercept_misc2 (offset 0x010) */
enum {
	SVM_INTERCEPT_VMRUN = 1u << 0,
	SVM_INTERCEPT_VMMCALL = 1u << 1,
	SVM_INTERCEPT_VMLOAD = 1u << 2,
	SVM_INTERCEPT_VMSAVE = 1u << 3,
	SVM_INTERCEPT_STGI = 1u << 4,
	SVM_INTERCEPT_CLGI = 1u << 5,
	SVM_INTERCEPT_SKINIT = 1u << 6,
	SVM_INTERCEPT_WBINVD = 1u << 9,
	SVM_INTERCEPT_MONITOR = 1u << 10,
	SVM_INTERCEPT_MWAIT = 1u << 11,
	SVM_INTERCEPT_XSETBV = 1u << 13,
	SVM_INTERCEPT_RDPRU = 1u << 14,
};

#define SVM_INTERCEPT_BUS_LOCK BIT(5) /* intercept_misc3 (offset 0x014) */

/* v_intr (offset 0x060) */
#define SVM_V_IRQ BIT(8)
#define SVM_V_INTR_PRIO (15ull << 16)
#define SVM_V_IGN_TPR BIT(20)
#define SVM_V_INTR_MASKING BIT(24)
#define SVM_V_VECTOR_SHIFT 32
/* An interrupt that only IF and the shadow hold back. */
#define SVM_V_INTR (SVM_V_IRQ | SVM_V_INTR_PRIO | SVM_V_IGN_TPR)

#define SVM_INTR_SHADOW BIT(0) /* int_state (offset 0x068) */
#define SVM_NP_ENABLE BIT(0) /* np_control (offset 0x090) */

/* event_inj and exit_int_info: type in bits 10:8. */
#define SVM_EVENT_VECTOR 0xffu
#define SVM_EVENT_TYPE_SHIFT 8
enum { SVM_EVENT_INTR = 0, SVM_EVENT_NMI = 2, SVM_EVENT_EXCEPTION = 3, SVM_EVENT_SOFT = 4 };
#define SVM_EVENT_EV BIT(11)
#define SVM_EVENT_V BIT(31)

/*
 * clean (offset 0x0c0; 15.15.4): what is as the CPU left it. Not V_INTR (bit 3) nor CR2 (9). Where
 * a CPU has no such bits it ignores them.
 */
#define SVM_CLEAN 0x1f7u

enum { SVM_TLB_KEEP = 0, SVM_TLB_FLUSH_ALL = 1 };

/* Exit codes (APM vol. 2, appendix C). */
enum {
	SVM_EXIT_CR_WRITE = 0x10,
	SVM_EXIT_DR_READ = 0x20,
	SVM_EXIT_DR_WRITE = 0x30,
	SVM_EXIT_EXCEPTION = 0x40,
	SVM_EXIT_INTR = 0x60,
	SVM_EXIT_NMI = 0x61,
	SVM_EXIT_INIT = 0x63,
	SVM_EXIT_VINTR = 0x64,
	SVM_EXIT_RDPMC = 0x6f,
	SVM_EXIT_CPUID = 0x72,
	SVM_EXIT_IRET = 0x74,
	SVM_EXIT_SWINT = 0x75,
	SVM_EXIT_INVD = 0x76,
	SVM_EXIT_HLT = 0x78,
	SVM_EXIT_INVLPGA = 0x7a,
	SVM_EXIT_IOIO = 0x7b,
	SVM_EXIT_MSR = 0x7c,
	SVM_EXIT_SHUTDOWN = 0x7f,
	SVM_EXIT_VMRUN = 0x80,
	SVM_EXIT_VMMCALL = 0x81,
	SVM_EXIT_SKINIT = 0x86,
	SVM_EXIT_WBINVD = 0x89,
	SVM_EXIT_MONITOR = 0x8a,
	SVM_EXIT_MWAIT = 0x8b,
	SVM_EXIT_XSETBV = 0x8d,
	SVM_EXIT_RDPRU = 0x8e,
	SVM_EXIT_BUS_LOCK = 0xa5,
	SVM_EXIT_NPF = 0x400,
};
#define SVM_EXIT_INVALID (~0ull)

/* exit_info1 of IOIO: direction and size; the port is in bits 31:16. */
#define SVM_IOIO_IN BIT(0)
#define SVM_IOIO_STRING BIT(2)
#define SVM_IOIO_REP BIT(3)
#define SVM_IOIO_SIZE_SHIFT 4 /* one bit each for 1, 2 and 4 bytes */

/*
 * exit_info1 of a control register's exit, with decode assists (15.33.1): set by MOV, not by CLTS,
 * LMSW and SMSW.
 */
#define SVM_CR_MOV BIT(63)
#define SVM_CR_GPR 15u

/* exit_info1 of NPF, beside the page-fault bits. */
#define SVM_NPF_GUEST_TABLE BIT(33)

struct vmcb_segment {
	u16 selector;
	u16 attr; /* type, S, DPL, P, AVL, L, D/B, G in 12 bits */
	u32 limit;
	u64 base;
};
static_assert(sizeof(struct vmcb_segment) == 16, "APM vol. 2, table B-2");

struct vmcb {
	/* Control area, offset 0. */
	u16 intercept_cr_read; /* 000h: reads of CR0 to CR15 */
	u16 intercept_cr_write; /* 002h: writes of CR0 to CR15 */
	u16 intercept_dr_read; /* 004h: reads of DR0 to DR15 */
	u16 intercept_dr_write; /* 006h: writes of DR0 to DR15 */
	u32 intercept_exceptions; /* 008h: exception vectors 0 to 31 */
	u32 intercept_misc1; /* 00ch: SVM_INTERCEPT_INTR and on */
	u32 intercept_misc2; /* 010h: SVM_INTERCEPT_VMRUN and on */
	u32 intercept_misc3; /* 014h: SVM_INTERCEPT_BUS_LOCK */
	u8 reserved1[0x40 - 0x18]; /* 018h */
	u64 iopm_base; /* 040h: IOPM_BASE_PA */
	u64 msrpm_base; /* 048h: MSRPM_BASE_PA */
	u64 tsc_offset; /* 050h: TSC_OFFSET */
	u32 asid; /* 058h: guest ASID */
	u8 tlb_control; /* 05ch: TLB_CONTROL */
	u8 reserved2[3]; /* 05dh */
	u64 v_intr; /* 060h: V_TPR, V_IRQ and on */
	u64 int_state; /* 068h: INTERRUPT_SHADOW, GUEST_INTERRUPT_MASK */
	u64 exit_code; /* 070h: EXITCODE */
	u64 exit_info1; /* 078h: EXITINFO1 */
	u64 exit_info2; /* 080h: EXITINFO2 */
	u64 exit_int_info; /* 088h: EXITINTINFO */
	u64 np_control; /* 090h: NP_ENABLE and on */
	u8 reserved3[0xa8 - 0x98]; /* 098h */
	u64 event_inj; /* 0a8h: EVENTINJ */
	u64 n_cr3; /* 0b0h: N_CR3 */
	u64 lbr_control; /* 0b8h: LBR_VIRTUALIZATION_ENABLE and on */
	u64 clean; /* 0c0h: VMCB clean bits */
	u64 next_rip; /* 0c8h: nRIP */
	u8 reserved4[0x120 - 0xd0]; /* 0d0h */
	u16 bus_lock_counter; /* 120h: how many are done before the exit */
	u8 reserved13[0x400 - 0x122]; /* 122h */

	/* State save area, offset 0x400. */
	struct vmcb_segment es; /* 400h: ES */
	struct vmcb_segment cs; /* 410h: CS */
	struct vmcb_segment ss; /* 420h: SS */
	struct vmcb_segment ds; /* 430h: DS */
	struct vmcb_segment fs; /* 440h: FS */
	struct vmcb_segment gs; /* 450h: GS */
	struct vmcb_segment gdtr; /* 460h: GDTR */
	struct vmcb_segment ldtr; /* 470h: LDTR */
	struct vmcb_segment idtr; /* 480h: IDTR */
	struct vmcb_segment tr; /* 490h: TR */
	u8 reserved5[0x4cb - 0x4a0]; /* 4a0h */
	u8 cpl; /* 4cbh: CPL */
	u8 reserved6[4]; /* 4cch */
	u64 efer; /* 4d0h: EFER */
	u8 reserved7[0x548 - 0x4d8]; /* 4d8h */
	u64 cr4; /* 548h: CR4 */
	u64 cr3; /* 550h: CR3 */
	u64 cr0; /* 558h: CR0 */
	u64 dr7; /* 560h: DR7 */
	u64 dr6; /* 568h: DR6 */
	u64 rflags; /* 570h: RFLAGS */
	u64 rip; /* 578h: RIP */
	u8 reserved8[0x5d8 - 0x580]; /* 580h */
	u64 rsp; /* 5d8h: RSP */
	u8 reserved9[0x5f8 - 0x5e0]; /* 5e0h */
	u64 rax; /* 5f8h: RAX */
	u64 star; /* 600h: STAR */
	u64 lstar; /* 608h: LSTAR */
	u64 cstar; /* 610h: CSTAR */
	u64 sfmask; /* 618h: SFMASK */
	u64 kernel_gs_base; /* 620h: KernelGsBase */
	u64 sysenter_cs; /* 628h: SYSENTER_CS */
	u64 sysenter_esp; /* 630h: SYSENTER_ESP */
	u64 sysenter_eip; /* 638h: SYSENTER_EIP */
	u64 cr2; /* 640h: CR2 */
	u8 reserved10[0x668 - 0x648]; /* 648h */
	u64 g_pat; /* 668h: G_PAT */
	u8 reserved11[0x6e0 - 0x670]; /* 670h */
	/* the guest's, on CPUs that keep it apart: CPUID 8000000Ah EDX bit 20 */
	u64 spec_ctrl; /* 6e0h: SPEC_CTRL */
	u8 reserved12[0x1000 - 0x6e8]; /* 6e8h */
} __aligned(4096);
static_assert(sizeof(struct vmcb) == 4096, "APM vol. 2, 15.5.1");
static_assert(offsetof(struct vmcb, iopm_base) == 0x40, "table B-1");
static_assert(offsetof(struct vmcb, asid) == 0x58, "table B-1");
static_assert(offsetof(struct vmcb, exit_code) == 0x70, "table B-1");
static_assert(offsetof(struct vmcb, np_control) == 0x90, "table B-1");
static_assert(offsetof(struct vmcb, event_inj) == 0xa8, "table B-1");
static_assert(offsetof(struct vmcb, next_rip) == 0xc8, "table B-1");
static_assert(offsetof(struct vmcb, bus_lock_counter) == 0x120, "table B-1");
static_assert(offsetof(struct vmcb, es) == 0x400, "table B-2");
static_assert(offsetof(struct vmcb, cpl) == 0x4cb, "table B-2");
static_assert(offsetof(struct vmcb, efer) == 0x4d0, "table B-2");
static_assert(offsetof(struct vmcb, cr4) == 0x548, "table B-2");
static_assert(offsetof(struct vmcb, rip) == 0x578, "table B-2");
static_assert(offsetof(struct vmcb, rsp) == 0x5d8, "table B-2");
static_assert(offsetof(struct vmcb, rax) == 0x5f8, "table B-2");
static_assert(offsetof(struct vmcb, cr2) == 0x640, "table B-2");
static_assert(offsetof(struct vmcb, g_pat) == 0x668, "table B-2");
static_assert(offsetof(struct vmcb, spec_ctrl) == 0x6e0, "table B-2");

#endif
