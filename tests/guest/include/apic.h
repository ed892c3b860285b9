/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC in either mode, by the registers' xAPIC offsets (SDM vol. 3, 11.4.1 and
 * 11.12.1.2).
 */
#ifndef TINY_APIC_H
#define TINY_APIC_H

#include "cpu.h"

#define LAPIC_BASE 0xfee00000ull
enum {
	APIC_ID = 0x20,
	APIC_VERSION = 0x30,
	APIC_TPR = 0x80,
	APIC_PPR = 0xa0,
	APIC_EOI = 0xb0,
	APIC_LDR = 0xd0,
	APIC_DFR = 0xe0,
	APIC_SVR = 0xf0,
	APIC_ISR = 0x100,
	APIC_TMR = 0x180,
	APIC_IRR = 0x200,
	APIC_ESR = 0x280,
	APIC_ICR = 0x300,
	APIC_ICR2 = 0x310,
	APIC_LVT_TIMER = 0x320,
	APIC_LVT_LINT0 = 0x350,
	APIC_LVT_LINT1 = 0x360,
	APIC_LVT_ERROR = 0x370,
	APIC_TIMER_INIT = 0x380,
	APIC_TIMER_NOW = 0x390,
	APIC_TIMER_DIVIDE = 0x3e0,
	APIC_SELF_IPI = 0x3f0,
};

/* Modes and shorthands of the ICR's low half. */
enum {
	ICR_FIXED = 0,
	ICR_LOWEST = 1 << 8,
	ICR_SMI = 2 << 8,
	ICR_NMI = 4 << 8,
	ICR_INIT = 5 << 8,
	ICR_STARTUP = 6 << 8,
	ICR_LOGICAL = 1 << 11,
	ICR_BUSY = 1 << 12,
	ICR_ASSERT = 1 << 14,
	ICR_LEVEL = 1 << 15,
	ICR_SELF = 1 << 18,
	ICR_ALL = 2 << 18,
	ICR_OTHERS = 3 << 18,
};

bool x2apic_on(void);
u32 apic_read(unsigned reg);
void apic_write(unsigned reg, u32 v);
/*
 * Writes the ICR: destination (APIC ID or logical set) and low half; waits until an xAPIC has sent
 * it.
 */
void apic_ipi(u32 dest, u32 icr);
/* Software-enables the calling CPU's APIC with spurious vector 0xff. */
void apic_enable(void);
/* From xAPIC to x2APIC mode; false where CPUID does not offer it. */
bool x2apic_enable(void);

#endif
