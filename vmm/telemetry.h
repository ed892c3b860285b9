/* SPDX-License-Identifier: GPL-2.0-only */
/* Telemetry: what each vCPU's exits were, counted from the first day, printed when its VM ends. */
#ifndef VMM_TELEMETRY_H
#define VMM_TELEMETRY_H

#include <margay/types.h>
#include "vmm/hvm_ops.h"

struct vcpu;

/* Counters; without CONFIG_TELEMETRY they stay 0. */
struct vcpu_stats {
	u64 exits[VMEXIT_REASONS];
	u64 injected;     /* external interrupts injected */
	u64 unknown_msrs; /* accesses that got #GP for want of a rule */
};

/* Counts one; the compiler drops it where telemetry is not in the image. */
static inline void telemetry_count(u64 *counter)
{
	if (IS_ENABLED(CONFIG_TELEMETRY))
		++*counter;
}

#if IS_ENABLED(CONFIG_TELEMETRY)
/* The name of an exit reason, as in the telemetry line. */
const char *vmexit_name(enum vmexit_reason reason);

/* One line per vCPU: "exits=N cpuid=N ..." with the reasons that occurred. */
void telemetry_print(const struct vcpu *vcpu);
#else
static inline void telemetry_print(const struct vcpu *vcpu)
{
	(void)vcpu;
}
#endif

#endif
