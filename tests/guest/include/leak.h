/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What leak_a_fill.c leaves behind and leak_b_read.c looks for: MSRs and their power-on values (SDM
 * vol. 3, table 10-1).
 */
#ifndef TINY_LEAK_H
#define TINY_LEAK_H

#include "cpu.h"

#define LEAK_VALUE 0x00005a5aa5a55a5aull /* canonical */
/* of the APIC timer's input clock of 1 MHz: runs on when leak_a_fill.c has ended */
#define LEAK_TIMER 100000u
#define CR4_OSFXSR BIT(9)
#define CR4_OSXSAVE BIT(18)
#define CR4_PKE BIT(22)

static const struct {
	u32 msr;
	u64 value;
	u64 reset;
} leak_msrs[] = {
	{ 0x174, 0x5a58, 0 }, /* SYSENTER_CS, _ESP, _EIP */
	{ 0x175, LEAK_VALUE, 0 },
	{ 0x176, LEAK_VALUE, 0 },
	{ 0x1d9, 2, 0 }, /* DEBUGCTL */
	{ 0x277, 0x0001040600010406ull, 0x0007040600070406ull }, /* PAT */
	{ 0x3b, 0x5a5a, 0 }, /* TSC_ADJUST */
	{ 0xc0000081, LEAK_VALUE, 0 }, /* STAR, LSTAR, CSTAR, SFMASK */
	{ 0xc0000082, LEAK_VALUE, 0 },
	{ 0xc0000083, LEAK_VALUE, 0 },
	{ 0xc0000084, 0x5a5a5, 0 },
	{ 0xc0000100, LEAK_VALUE, 0 }, /* FS base, KERNEL_GS_BASE, TSC_AUX */
	{ 0xc0000102, LEAK_VALUE, 0 },
	{ 0xc0000103, 0x5a5a5a5a, 0 },
	{ 0x48, 1, 0 }, /* SPEC_CTRL */
	{ 0x4b564d00, 0x9000, 0 }, /* KVM's clock */
};

#endif
