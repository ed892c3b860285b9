/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions and interrupts: the IDT that all CPUs share, the frame that its
 * stubs build, the dispatch. SDM vol. 3, chapter 6.
 */
#ifndef ARCH_CPU_TRAP_H
#define ARCH_CPU_TRAP_H

#include <margay/x86.h>

/* What a stub of trap.asm leaves on the stack, lowest address first. */
struct trap_frame {
	u64 r15;
	u64 r14;
	u64 r13;
	u64 r12;
	u64 r11;
	u64 r10;
	u64 r9;
	u64 r8;
	u64 rbp;
	u64 rdi;
	u64 rsi;
	u64 rdx;
	u64 rcx;
	u64 rbx;
	u64 rax;
	u64 vector;
	u64 error; /* 0 where the exception has none */
	u64 rip;
	u64 cs;
	u64 rflags;
	u64 rsp;
	u64 ss;
};
static_assert(sizeof(struct trap_frame) == 22 * 8, "pushes in trap.asm");
#define SX_INIT 1 /* error code of #SX: an INIT (APM vol. 2, 15.28) */

/* Interrupt vectors of the host. */
#define VECTOR_LEGACY 0x20   /* .. 0x2f: the masked 8259s, for spurious ones */
#define VECTOR_FIRST 0x30    /* from here on the APIC delivers: an EOI is due */
#define VECTOR_LAST 0xdf     /* .. from VECTOR_FIRST: of devices (kernel/pci/pci_vectors.c) */
#define VECTOR_TIMER 0xf0
#define VECTOR_CORRECTED 0xf2 /* errors of the machine that it has corrected */
/* stands for all from VECTOR_FIRST to 0xef in an image without passthrough */
#define VECTOR_STRAY 0xf1
#define VECTOR_SPURIOUS 0xff

/* Runs with interrupts off, on the interrupted stack; the dispatcher sends the EOI afterwards. */
typedef void (*irq_handler)(void *arg);

/* Fills in the shared IDT: once. */
void trap_init(void);
/* Loads the IDT on the calling CPU. */
void trap_load(void);
/*
 * From now on NMI and #DF use their IST stacks: after desc_set_ist() on every CPU that is online.
 * No other may: they are found by TR, which is a guest's at times (svm/world.inc), when GIF = 0
 * keeps off NMIs alone for sure.
 */
void trap_use_ist(void);

/* Installs the handler of a vector >= 0x20; NULL removes it. */
void trap_set_handler(u8 vector, irq_handler fn, void *arg);

/*
 * Takes a pending interrupt now. Called with interrupts off, returns with
 * interrupts off.
 */
static inline void trap_window(void)
{
	asm volatile("sti; nop; cli" : : : "memory");
}

/* C entry of the stubs; nobody else calls it. */
void trap_dispatch(struct trap_frame *frame);

#endif
