/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a CPU can divide of a cache and of memory bandwidth, which part somebody gets,
 * and what it counts of their use (Intel Resource Director Technology Architecture Specification;
 * SDM vol. 3, 18.18 and 18.19; AMD64 Technology Platform Quality of Service Extensions, 56375).
 * kernel/work/rdt.c does it.
 */
#ifndef ARCH_CPU_RDT_H
#define ARCH_CPU_RDT_H

#include <margay/x86.h>

struct rdt_caps {
	/* of the cache that is divided: 3, or 2 where that is the last one that can be */
	unsigned level;
	unsigned ways;         /* parts of it, a bit of a mask each; 0: none can be divided */
	u32 masks;             /* MSR: the first class' mask */
	u32 devices;           /* those that devices write into, too */
	/* L3, L2: code and data could have different masks: to be switched off */
	bool cdp[2];
	unsigned classes;      /* of service, that all caches have; class 0 is everybody's */
	/*
	 * Intel: percent that can be held back; 0: memory bandwidth cannot be divided by percents
	 */
	unsigned throttle_max;
	/* AMD: of a limit in RDT_LIMIT_UNITs; 0: it cannot be divided by GB/s */
	unsigned limit_bits;
	unsigned bandwidth_classes;
	/* CPUs whose APIC IDs are the same above this share that cache, or the L3 cache */
	unsigned id_shift;
	/* Counting by the number of who used it (RMID): */
	unsigned ids; /* above 0; 0: nothing is counted */
	u32 events; /* BIT(enum rdt_event) */
	u32 unit; /* bytes that a count is worth */
	unsigned counter_bits;
};

#define RDT_LIMIT_UNITS_PER_GB 8

/* IA32_QM_EVTSEL's numbers. */
enum rdt_event { RDT_HELD = 1, RDT_TRAFFIC = 2, RDT_LOCAL = 3 };

/* By CPUID of the CPU. */
void rdt_read(void (*cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out), struct rdt_caps *out);

/* What somebody has of one cache. */
struct rdt_share {
	const void *owner; /* NULL: nobody */
	u32 cache; /* APIC ID >> id_shift */
	u32 mask; /* of ways; 0: those that nobody has to himself */
	unsigned class; /* from 1 on */
	u32 bandwidth; /* the register's value: rdt_throttle(), or rdt_limit() */
	unsigned cpus; /* that have not given it back yet */
};

/*
 * Finds a class, and adjoining ways that nobody has (0: none are wanted); one way stays for those
 * without. Devices' ways last. False: there are no such.
 */
bool rdt_find(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count,
	      u32 cache, unsigned ways, u32 *mask, unsigned *class);

/* The mask of those without ways of their own. */
u32 rdt_rest(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count,
	     u32 cache);

/*
 * What to hold back so that at least `percent` of the bandwidth is left, in steps that the CPU has.
 */
unsigned rdt_throttle(const struct rdt_caps *caps, unsigned percent);

/*
 * At most so many GB/s for all of its CPUs that share an L3 cache; 0: no limit. 0 where the CPU has
 * no limits.
 */
u32 rdt_limit(const struct rdt_caps *caps, unsigned gigabytes);

/* Bytes between two counts of traffic, of which the counter has begun anew at most once. */
u64 rdt_traffic(const struct rdt_caps *caps, u64 before, u64 now);

#endif
