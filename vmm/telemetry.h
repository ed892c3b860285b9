/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telemetry: what each vCPU's exits were and what they cost, counted from the
 * first day. Written by the vCPU's CPU alone; others may read at any time and
 * see each counter whole, but not all of one moment.
 */
#ifndef VMM_TELEMETRY_H
#define VMM_TELEMETRY_H

#include <margay/types.h>
#include "vmm/hvm_ops.h"

struct vcpu;

#define TELEMETRY_LAST 8 /* exits remembered; a power of two */

/* Exits of one reason; TSC ticks from the exit until it was handled. */
struct exit_stat {
	u64 count, ticks;
	u64 min, max;
};

/* Counters; without CONFIG_TELEMETRY they stay 0. */
struct vcpu_stats {
	struct exit_stat exit[VMEXIT_REASONS]; /* beyond VMEXITS: entries that were left out */
	u64 injected;     /* external interrupts injected */
	u64 unknown_msrs; /* accesses that got #GP for want of a rule */
	u32 vector[256];  /* of these interrupts */
	struct {
		u64 rip;
		u64 code; /* the vendor's exit code */
		enum vmexit_reason reason;
	} last[TELEMETRY_LAST];
	unsigned next;    /* exits ever, modulo 2^32: the next slot of last[] */
};

/* Counts one; the compiler drops it where telemetry is not in the image. */
static inline void telemetry_count(u64 *counter)
{
	if (IS_ENABLED(CONFIG_TELEMETRY))
		++*counter;
}

#if IS_ENABLED(CONFIG_TELEMETRY)
/* An exit at this RIP: notes it, returns when its handling began. */
u64 telemetry_begin(struct vcpu_stats *stats, const struct vmexit *exit, u64 rip);
/* It has been handled. */
void telemetry_end(struct vcpu_stats *stats, enum vmexit_reason reason, u64 began);

/* An interrupt was injected. */
void telemetry_injected(struct vcpu_stats *stats, u8 vector);

/* The name of an exit reason, as in the telemetry line. */
const char *vmexit_name(enum vmexit_reason reason);

/* One line per vCPU: "exits=N cpuid=N ..." with the reasons that occurred; "kicked=N": entries that a kick kept from happening. */
void telemetry_print(const struct vcpu *vcpu);
#else
static inline u64 telemetry_begin(struct vcpu_stats *stats, const struct vmexit *exit, u64 rip)
{
	(void)stats;
	(void)exit;
	(void)rip;
	return 0;
}

static inline void telemetry_end(struct vcpu_stats *stats, enum vmexit_reason reason, u64 began)
{
	(void)stats;
	(void)reason;
	(void)began;
}

static inline void telemetry_injected(struct vcpu_stats *stats, u8 vector)
{
	(void)stats;
	(void)vector;
}

static inline void telemetry_print(const struct vcpu *vcpu)
{
	(void)vcpu;
}
#endif

#endif
