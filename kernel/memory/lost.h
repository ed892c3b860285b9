/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that the machine has lost: nobody is given them again, and nobody zeroes them, which would
 * read them first.
 */
#ifndef KERNEL_MEMORY_LOST_H
#define KERNEL_MEMORY_LOST_H

#include <margay/types.h>

/* From now on that page is lost. Any CPU, in any state, inside of a machine check too. */
void memory_lost(u64 page);
/*
 * Is there a line of that page already, or are there too many of them? A guest may read one again
 * and again.
 */
bool memory_lost_told(u64 page);

/* Tells whoever wants to know of such pages, where a CPU looks around anyway. */
void memory_lost_tell(void);

#endif
