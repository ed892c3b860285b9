/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that must not go on after an NMI: it has tested a word that the NMI's
 * sender sets first, and is about to sleep or to enter a guest. RFLAGS.IF does
 * not hold NMIs off, so the handler moves the CPU from anywhere in such a
 * region to its end. The regions are written in assembly, as entries of the
 * section .nmi_table:
 *
 *	section .nmi_table progbits alloc noexec nowrite align=8
 *		dq begin, end, resume
 *
 * begin: the instruction that tests the word; end: the first one behind the
 * region; resume: where to go on, with the registers as they were.
 */
#ifndef ARCH_CPU_NMI_TABLE_H
#define ARCH_CPU_NMI_TABLE_H

#include <margay/types.h>

struct nmi_region {
	/* end exclusive */
	u64 begin;
	u64 end;

	u64 resume;
};
static_assert(sizeof(struct nmi_region) == 24, "dq begin, end, resume");

/* Where code that an NMI interrupted at rip goes on: rip itself outside of all regions. */
u64 nmi_resume_at(u64 rip);

#endif
