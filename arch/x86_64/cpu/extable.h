/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exception table: instructions that may fault, each with the place where
 * execution goes on when it does. Searched by trap_dispatch() for every
 * exception but NMI, #DF, #MC.
 */
#ifndef ARCH_CPU_EXTABLE_H
#define ARCH_CPU_EXTABLE_H

#include <margay/types.h>

struct ex_entry {
	u64 insn;  /* address of the instruction that may fault */
	u64 fixup; /* where to go on; registers as at the fault */
};

/*
 * In an asm statement: the instruction at label `insn` goes on at label `fixup` ("%l[name]" in asm
 * goto).
 */
#define EX_TABLE(insn, fixup) \
	".pushsection .ex_table, \"a\"\n\t" \
	".balign 8\n\t" \
	".quad " insn ", " fixup "\n\t" \
	".popsection\n\t"

/* The fixup address for a fault at rip, or 0. */
u64 extable_find(u64 rip);

#endif
