/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what an error in a machine-check bank means (SDM vol. 3, chapter 16; APM vol. 2, chapter 9). kernel/mce.c reads
 * the banks and does what follows.
 */
#ifndef ARCH_CPU_MCE_H
#define ARCH_CPU_MCE_H

#include <margay/types.h>

#define MCG_CAP_COUNT(cap) ((unsigned)(cap) & 0xff)
#define MCG_CAP_CTL BIT(8)         /* MCG_CTL is there */
#define MCG_CAP_SER BIT(24)        /* errors that software recovers from: Intel's S and AR bits */
#define MCG_CAP_LMCE BIT(27)       /* what concerns one CPU can be told to that one only */
#define MCG_STATUS_RIPV BIT(0)     /* what was interrupted can go on where it was */
#define MCG_STATUS_EIPV BIT(1)     /* the error is that instruction's */

#define MCI_STATUS_DEFERRED BIT(44) /* AMD: poison that nobody has used yet */
#define MCI_STATUS_AR BIT(55)      /* Intel: this CPU cannot go on with what it did */
#define MCI_STATUS_S BIT(56)       /* Intel: was told by a machine check */
#define MCI_STATUS_PCC BIT(57)     /* the processor's own state is lost */
#define MCI_STATUS_ADDRV BIT(58)
#define MCI_STATUS_MISCV BIT(59)
#define MCI_STATUS_UC BIT(61)
#define MCI_STATUS_OVER BIT(62)    /* errors before it are lost */
#define MCI_STATUS_VAL BIT(63)

struct mce_kind {
	bool ser;           /* MCG_CAP_SER */
	bool succor;        /* AMD: poison is told as errors that software recovers from (CPUID 80000007h EBX 1) */
	bool overflow;      /* AMD: lost errors were no worse (EBX 0) */
	bool smca;          /* AMD: banks by their own MSRs (EBX 3) */
};

enum mce_verdict {
	MCE_NONE,           /* no error, or another CPU's: stays as it is */
	MCE_CORRECTED,      /* nothing is lost */
	MCE_LOST,           /* memory is lost that nobody has used since: the page must not be used again */
	MCE_USED,           /* lost memory was used by what this CPU ran: that must not go on */
	MCE_FATAL,          /* nothing can be trusted any more */
};

/* taken: in a machine check with this MCG_STATUS; without, a look at the banks, which leaves what only a machine check can tell. */
enum mce_verdict mce_judge(const struct mce_kind *kind, u64 status, bool taken, u64 mcg_status);

/* Which page is lost by that error: true and *page, or the bank does not tell. misc: 0 where the status has no MISCV. */
bool mce_page(const struct mce_kind *kind, u64 status, u64 address, u64 misc, u64 *page);

#endif
