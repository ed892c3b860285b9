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

/* An exit at this RIP: notes it, returns when its handling began. */
static inline u64 telemetry_begin(struct vcpu_stats *stats, const struct vmexit *exit, u64 rip)
{
	unsigned i = stats->next % TELEMETRY_LAST;

	if (!IS_ENABLED(CONFIG_TELEMETRY))
		return 0;
	stats->next++;
	stats->last[i].rip = rip;
	stats->last[i].code = exit->raw;
	stats->last[i].reason = exit->reason;
	return __builtin_ia32_rdtsc();
}

/* It has been handled. */
static inline void telemetry_end(struct exit_stat *e, u64 began)
{
	u64 ticks;

	if (!IS_ENABLED(CONFIG_TELEMETRY))
		return;
	asm("" : "+r"(e)); /* or the compiler computes it anew at each use */
	ticks = __builtin_ia32_rdtsc() - began;
	if (unlikely(ticks < e->min || !e->count))
		e->min = ticks;
	if (unlikely(ticks > e->max))
		e->max = ticks;
	e->ticks += ticks;
	e->count++;
}

/* An interrupt was injected. */
static inline void telemetry_injected(struct vcpu_stats *stats, u8 vector)
{
	if (!IS_ENABLED(CONFIG_TELEMETRY))
		return;
	stats->injected++;
	stats->vector[vector]++;
}

/* It was not taken and is pending again: it counts when it is injected the next time. */
static inline void telemetry_given_back(struct vcpu_stats *stats, u8 vector)
{
	if (!IS_ENABLED(CONFIG_TELEMETRY))
		return;
	stats->injected--;
	stats->vector[vector]--;
}

/* The rest is only there in images with TELEMETRY: */

/* The name of an exit reason, as in the telemetry line. */
const char *vmexit_name(enum vmexit_reason reason);

/* One line per vCPU: "exits=N cpuid=N ..." with the reasons that occurred; "kicked=N": entries that a kick kept from happening. */
void telemetry_print(const struct vcpu *vcpu);

#endif
