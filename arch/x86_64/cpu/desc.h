/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segment and system descriptors of one CPU: GDT, TSS with its interrupt
 * stacks, and the accessors that a hardware backend needs to fill in the host
 * state of a VM exit. SDM vol. 3, 3.4.5 and 8.7; chapter 28.5 for the latter.
 */
#ifndef ARCH_CPU_DESC_H
#define ARCH_CPU_DESC_H

#include <margay/x86.h>

/* Selectors: ring 0 only, DS/ES/FS/SS hold the data selector or 0 alike. */
#define SEL_CODE 0x08
#define SEL_DATA 0x10
#define SEL_TSS 0x18

/* Interrupt stack table slots (IDT gates hold slot + 1). */
enum ist { IST_NMI, IST_DF, IST_COUNT };

/* 64-bit TSS (SDM vol. 3, figure 8-11). */
struct tss {
	u32 reserved0; /* 0 */
	u64 rsp[3]; /* 4: RSP0 to RSP2 */
	u64 reserved1; /* 28 */
	u64 ist[7]; /* 36: IST1 to IST7 */
	u64 reserved2; /* 92 */
	u16 reserved3; /* 100 */
	u16 iomap_base; /* 102: I/O map base address */
} __packed;
static_assert(sizeof(struct tss) == 104, "SDM vol. 3, figure 8-11");
static_assert(offsetof(struct tss, ist) == 36, "SDM vol. 3, figure 8-11");

/* One CPU's tables. Lives as long as the CPU is online; owned by struct cpu. */
struct cpu_desc {
	u64 gdt[6]; /* null, code, data, TSS (two slots), pad */
	struct tss tss __aligned(16);
	u64 gs; /* GS base */
};

/*
 * Fills in the tables and loads GDTR, TR, the segment registers and GS base of
 * the calling CPU. IST slots stay empty until desc_set_ist().
 */
void desc_load(struct cpu_desc *desc, u64 gs);

/*
 * For an exception that may have met a guest's GS base and TR in the CPU (svm/world.inc: from a
 * VMLOAD to the other), by the GDT, which is its own then, too. desc_take_gs() returns what GS base
 * was, for desc_give_gs(); what has taken TR does not go back.
 */
u64 desc_take_gs(void);
void desc_give_gs(u64 gs);
void desc_take_tr(void);

/* Top of the stack (16-byte aligned) that the slot's exceptions are taken on. */
void desc_set_ist(struct cpu_desc *desc, enum ist slot, u64 top);

/* The calling CPU's table addresses, read from the CPU: for VMX host state. */
u64 desc_gdt_base(void);
u64 desc_idt_base(void);
u64 desc_tss_base(void);

#endif
