/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telemetry: what each vCPU's exits were, counted from the first day, and what
 * they cost, by samples. Written by the vCPU's CPU alone; others may read at any time and
 * see each counter whole, but not all of one moment.
 */
#ifndef VMM_TELEMETRY_H
#define VMM_TELEMETRY_H

#include <margay/types.h>
#include "vmm/hvm_ops.h"

struct vcpu;

#define TELEMETRY_LAST 8 /* exits remembered; a power of two */
/*
 * Of so many exits one is timed: a prime, for what a guest does again and again has many lengths.
 */
#define TELEMETRY_SAMPLE 251

/* Exits of one reason; TSC ticks from the exit until it was handled, of those that were timed. */
struct exit_stat {
	u64 count;
	u64 timed;
	u64 ticks;
	u64 min;
	u64 max;
};

/* Counters; without CONFIG_TELEMETRY they stay 0. */
struct vcpu_stats {
	struct {
		u64 rip;
		u32 code; /* the vendor's exit code, its low half */
		enum vmexit_reason reason;
	} last[TELEMETRY_LAST];
	unsigned next; /* exits ever, modulo 2^32: the next slot of last[] */
	unsigned sample; /* which of these is timed next */
	struct exit_stat exit[VMEXIT_REASONS]; /* beyond VMEXITS: entries that were left out */
	u64 injected; /* external interrupts injected */
	u64 unknown_msrs; /* accesses that got #GP for want of a rule */
	u32 vector[256]; /* of these interrupts */
};

/* Counts one; the compiler drops it where telemetry is not in the image. */
static inline void telemetry_count(u64 *counter)
{
	if (IS_ENABLED(CONFIG_TELEMETRY))
		++*counter;
}

/* Is the next exit one that is timed? */
static inline bool telemetry_due(const struct vcpu_stats *stats)
{
	return IS_ENABLED(CONFIG_TELEMETRY) && stats->next == stats->sample;
}

/* An exit at this RIP: counts and notes it. */
static inline void telemetry_exit(struct vcpu_stats *stats, enum vmexit_reason reason, u32 code,
				  u64 rip)
{
	unsigned i = stats->next % TELEMETRY_LAST;

	if (!IS_ENABLED(CONFIG_TELEMETRY))
		return;
	stats->next++;
	stats->last[i].rip = rip;
	stats->last[i].code = code;
	stats->last[i].reason = reason;
	stats->exit[reason].count++;
}

/* The same; returns when its handling began, or 0 when it is not timed. */
static inline u64 telemetry_begin(struct vcpu_stats *stats, const struct vmexit *exit, u64 rip)
{
	bool due = telemetry_due(stats);

	telemetry_exit(stats, exit->reason, (u32)exit->raw, rip);
	if (likely(!due))
		return 0;
	stats->sample += TELEMETRY_SAMPLE;
	return __builtin_ia32_rdtsc();
}

/* It has been handled. */
static inline void telemetry_end(struct exit_stat *e, u64 began)
{
	u64 ticks;

	if (!IS_ENABLED(CONFIG_TELEMETRY) || likely(!began))
		return;
	asm("" : "+r"(e)); /* or the compiler computes it anew at each use */
	ticks = __builtin_ia32_rdtsc() - began;
	if (ticks < e->min || !e->timed)
		e->min = ticks;
	if (ticks > e->max)
		e->max = ticks;
	e->ticks += ticks;
	e->timed++;
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

#if IS_ENABLED(CONFIG_TELEMETRY)
/* How many exits are remembered. */
static inline unsigned telemetry_kept(const struct vcpu_stats *stats)
{
	return MIN(stats->next, (unsigned)TELEMETRY_LAST);
}

/* The name of an exit reason, as in the telemetry line. */
const char *vmexit_name(enum vmexit_reason reason);
#else
static inline unsigned telemetry_kept(const struct vcpu_stats *)
{
	return 0;
}

static inline const char *vmexit_name(enum vmexit_reason)
{
	return "";
}
#endif

/* The rest is only there in images with TELEMETRY: */

/*
 * One line per vCPU: "exits=N cpuid=N ..." with the reasons that occurred; "kicked=N": entries that
 * a kick kept from happening.
 */
void telemetry_print(struct vcpu *vcpu);

#endif
