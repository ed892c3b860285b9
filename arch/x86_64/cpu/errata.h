/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Errata by which a guest could stop the machine, or read what others left in a core, and against
 * which the maker says what a hypervisor is to do: AMD's revision guide for family 16h models
 * 00h-0Fh, erratum 793; for models 10h-1Fh of family 19h, 1485; AMD's bulletins AMD-SN-7052 and
 * AMD-SN-7053; Intel's specification updates, errata SKL167, SKZ63, KBW114, CFW103. Nothing where a
 * hypervisor is below: it sees to them. No locks.
 */
#ifndef ARCH_CPU_ERRATA_H
#define ARCH_CPU_ERRATA_H

#include <margay/x86.h>

#if IS_ENABLED(CONFIG_MITIGATIONS)
/*
 * errata_deadline.c. On the boot CPU, after features_init(): takes from cpu_features what does not
 * work with the microcode that it has now, and says so. The others are taken to have the same;
 * kernel/cpu/microcode.c tells where they have not.
 */
void errata_init(void);

/* The same file's: takes out of a leaf what does not work, so that no guest hears of it. */
void errata_mask_cpuid(u32 leaf, struct cpuid_regs *r);
#else
static inline void errata_init(void) { }

static inline void errata_mask_cpuid(u32, struct cpuid_regs *) { }
#endif

/* Sets the calling CPU up, whatever mitigate= says. After features_init(). Says nothing. */
void errata_init_cpu(void);

/*
 * Whether an elided lock in one place of physical memory, ERRATUM_HLE_START up to ERRATUM_HLE_END,
 * may hang the boot CPU: it is to be nobody's.
 */
#define ERRATUM_HLE_START GIB(1)
#define ERRATUM_HLE_END (GIB(1) + MIB(4))
bool errata_hle_hangs(void);

#endif
