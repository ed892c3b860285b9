/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How each VM's last run ended, or why there was none: for who asks when the log has gone on. By
 * slot. Only in images with MANAGEMENT_VM; any CPU.
 */
#ifndef VMM_OUTCOME_H
#define VMM_OUTCOME_H

#include <margay/types.h>

#include "vmm/slots/node_events.h"

struct outcome {
	/* as monitor_end_name() has it, or OUTCOME_NOT_STARTED; NULL: neither has been yet */
	const char *kind;
	u32 status;       /* of an end by the debug-exit port */
	u64 seconds;      /* when: since 1970-01-01 UTC */
	unsigned line;    /* of its VM file, if that is what is wrong; else 0 */
	/*
	 * the hypervisor's words: of what did not start, or did not end by its guest's will; else
	 * empty
	 */
	char why[240];
	char last[120]; /* what its guest said last on its console */
};

/*
 * The i-th kind that is counted, and how often the VM has ended so since it was made; NULL: there
 * are no more.
 */
const char *outcome_kind(unsigned i);
u64 outcome_count(const struct slot *s, unsigned i);
void outcome_of(const struct slot *s, struct outcome *out);
/* The slot is another VM's from now on. */
void outcome_forget(const struct slot *s);

#endif
