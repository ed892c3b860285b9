/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what an error in a machine-check bank means (SDM vol. 3, chapter 16; APM vol. 2,
 * chapter 9). kernel/errors/mce.c reads the banks and does what follows.
 */
#ifndef ARCH_CPU_MCE_H
#define ARCH_CPU_MCE_H

#include <margay/x86.h>

struct mce_kind {
	bool ser;           /* MCG_CAP_SER */
	/* AMD: poison is told as errors that software recovers from (CPUID 80000007h EBX 1) */
	bool succor;
	bool overflow;      /* AMD: lost errors were no worse (EBX 0) */
	bool smca;          /* AMD: banks by their own MSRs (EBX 3) */
};

enum mce_reg { MCE_CTL, MCE_STATUS, MCE_ADDR, MCE_MISC };

enum mce_verdict {
	MCE_NONE,           /* no error, or another CPU's: stays as it is */
	MCE_CORRECTED,      /* nothing is lost */
	/* memory is lost that nobody has used since: the page must not be used again */
	MCE_LOST,
	MCE_USED,           /* lost memory was used by what this CPU ran: that must not go on */
	/* the same, and more of it, of which nothing is known, by threads of this CPU's core */
	MCE_USED_BY_CORE,
	MCE_FATAL,          /* nothing can be trusted any more */
};

/*
 * taken: in a machine check with this MCG_STATUS; without, a look at the banks, which leaves what
 * only a machine check can tell.
 */
enum mce_verdict mce_judge(const struct mce_kind *kind, u64 status, bool taken, u64 mcg_status);

/* How CPUs learn of corrected errors, beside looking every now and then. */
enum mce_way { MCE_BY_TIME, MCE_BY_CMCI, MCE_BY_THRESHOLD };
enum mce_way mce_way(const struct mce_kind *kind, u64 cap);
/*
 * CMCI: what MCi_CTL2 becomes for an interrupt at each error; 0: another CPU has that bank (SDM
 * vol. 3, 16.5.2).
 */
u64 mce_ctl2(u64 ctl2);
/*
 * AMD: what MCi_MISC becomes for one at each error, and *lvt: which extended entry; 0: the bank has
 * none, or firmware keeps it.
 */
u64 mce_threshold(u64 misc, unsigned *lvt);

/*
 * Which page is lost by that error: true and *page, or the bank does not tell. misc: 0 where the
 * status has no MISCV.
 */
bool mce_page(const struct mce_kind *kind, u64 status, u64 address, u64 misc, u64 *page);

#endif
