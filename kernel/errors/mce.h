/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machine checks: every CPU's banks are on, an error is told, and ends what has used lost memory,
 * the node only if it must.
 */
#ifndef KERNEL_MCE_H
#define KERNEL_MCE_H

#include <margay/types.h>
#include "arch/x86_64/cpu/mce.h"
#include "arch/x86_64/cpu/upcall.h"

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/*
 * Switches the calling CPU's banks on, and tells what they hold of the time before. After the log
 * and the per-CPU data.
 */
void mce_init_cpu(void);

/* The calling CPU's machine check: upcall_machine_check(). */
enum mc_outcome mce_taken(enum mc_place place);

/*
 * Looks for errors that no machine check tells, every ten seconds: called where a CPU looks around
 * anyway. And at once.
 */
void mce_look(void);
void mce_look_now(void);

/* A line of when they are looked for. */
void mce_tell_when(bool in_time);
#else
static inline void mce_init_cpu(void) { }

static inline void mce_tell_when(bool) { }

static inline void mce_look(void) { }

#define mce_taken NULL
#endif

/*
 * Of the calling CPU's banks, by its MCG_CAP; and the MSR of a bank's register, MCE_CTL and so on.
 */
struct mce_kind mce_kind_of(u64 cap);
u32 mce_bank_msr(const struct mce_kind *kind, unsigned bank, unsigned reg);

#if IS_ENABLED(CONFIG_CORRECTED_ERRORS)
/*
 * mce_corrected.c. By corrected=minute the calling CPU's are not left to mce_look() alone; a line
 * for it.
 */
void corrected_begin(void);
void corrected_tell(void);
#else
static inline void corrected_begin(void) { }

static inline void corrected_tell(void) { }
#endif

/*
 * ghes.c, with HEST: in a guest's machine check of which no bank tells: what it was, and which
 * page, or HOST_LOST_UNKNOWN.
 */
enum mce_verdict ghes_judge(u64 *page);

#if IS_ENABLED(CONFIG_HEST)
/*
 * The same file's: finds the blocks in which firmware keeps errors; looks into them. Was there one?
 */
void ghes_init(void);
bool ghes_look(void);
#else
static inline void ghes_init(void) { }

static inline bool ghes_look(void)
{
	return false;
}
#endif

#endif
