/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the hardware check finds out on each CPU itself: whether their memory types are the same,
 * and how fast they run.
 */
#ifndef VMM_HWCHECK_CPUS_H
#define VMM_HWCHECK_CPUS_H

#include <margay/types.h>

enum cpus_state { CPUS_GOOD, CPUS_BAD, CPUS_UNKNOWN };

/*
 * Have all CPUs the boot CPU's MTRRs (SDM vol. 3, 12.11)? What one writes back another may read
 * past its caches otherwise. text: what there is to say.
 */
enum cpus_state hwcheck_mtrrs(char *text, size_t size);

/*
 * Keeps all CPUs busy for a second: do they run at the rate that their maker guarantees, of which
 * the TSC has it?
 */
enum cpus_state hwcheck_rate(char *text, size_t size);

#endif
