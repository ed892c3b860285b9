/* SPDX-License-Identifier: GPL-2.0-only */
/* Machine checks: every CPU's banks are on, an error is told, and ends what has used lost memory, the node only if it must. */
#ifndef KERNEL_MCE_H
#define KERNEL_MCE_H

#include <margay/types.h>

/* Switches the calling CPU's banks on, and tells what they hold of the time before. After the log and the per-CPU data. */
void mce_init_cpu(void);

/* Looks for errors that no machine check tells, every ten seconds: called where a CPU looks around anyway. */
void mce_look(void);

#endif
