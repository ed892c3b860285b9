/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sleeping without losing a wake-up. A wake-up is an interrupt or an NMI whose
 * sender has set *word before. NMIs are not held off by RFLAGS.IF: see
 * nmi_table.h.
 */
#ifndef ARCH_CPU_IDLE_H
#define ARCH_CPU_IDLE_H

#include <margay/types.h>

/*
 * All: called with interrupts off; return at once when *word is not 0, else
 * sleep until an interrupt or NMI has been taken; return with interrupts off.
 */
void idle_hlt(const u32 *word);
/* The same, but interrupts stay off: an NMI alone ends it. In images with DIRECT_INTERRUPTS. */
void idle_nmi(const u32 *word);
/* MWAIT on *word with C-state hint; wakes when *word is written, too. Needs cpu_features.mwait. */
void idle_mwait(const u32 *word, u32 hint);

#endif
