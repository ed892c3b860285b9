/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a CPU can divide of its last-level cache and of memory bandwidth, and which part somebody gets (Intel Resource
 * Director Technology Architecture Specification; SDM vol. 3, 18.19; AMD64 Platform QoS Extensions). kernel/rdt.c does it.
 */
#ifndef ARCH_CPU_RDT_H
#define ARCH_CPU_RDT_H

#include <margay/x86.h>

struct rdt_caps {
	unsigned ways;         /* parts of the L3 cache, a bit of a mask each; 0: it cannot be divided */
	u32 devices;           /* those that devices write into, too */
	bool cdp;              /* code and data could have different masks: to be switched off */
	unsigned classes;      /* of service, by cache; class 0 is everybody's */
	unsigned throttle_max; /* percent; 0: memory bandwidth cannot be divided by percents */
	unsigned throttle_classes;
	unsigned id_shift;     /* CPUs whose APIC IDs are the same above this share an L3 cache */
};

/* By CPUID of the CPU. */
void rdt_read(void (*cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out), struct rdt_caps *out);

/* What somebody has of one cache. */
struct rdt_share {
	const void *owner;  /* NULL: nobody */
	u32 cache;          /* APIC ID >> id_shift */
	u32 mask;           /* of ways; 0: those that nobody has to himself */
	unsigned class;     /* from 1 on */
	unsigned throttle;  /* percent of the memory bandwidth that it does without */
	unsigned cpus;      /* that have not given it back yet */
};

/*
 * Finds a class, and adjoining ways that nobody has (0: none are wanted); one way stays for those without. Devices' ways last.
 * False: there are no such.
 */
bool rdt_find(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count, u32 cache, unsigned ways, u32 *mask,
	      unsigned *class);

/* The mask of those without ways of their own. */
u32 rdt_rest(const struct rdt_caps *caps, const struct rdt_share *shares, unsigned count, u32 cache);

/* What to hold back so that at least `percent` of the bandwidth is left, in steps that the CPU has. */
unsigned rdt_throttle(const struct rdt_caps *caps, unsigned percent);

#endif
