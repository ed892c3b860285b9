/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: NUMA nodes, numbered densely from 0 in the order of their ACPI
 * proximity domains, from SRAT and SLIT (ACPI 5.2.16, 5.2.17). One node when
 * there is no SRAT. Filled once at boot, read-only afterwards.
 */
#ifndef KERNEL_NUMA_H
#define KERNEL_NUMA_H

#include <margay/types.h>
#include "kernel/acpi/tables.h"

#define NUMA_MAX_NODES 64
#define NUMA_LOCAL_DISTANCE 10
#define NUMA_REMOTE_DISTANCE 20

#if IS_ENABLED(CONFIG_NUMA)
/*
 * Either may be NULL. Returns NULL, or why a table was not used: a bad SRAT
 * leaves one node, a bad SLIT the distances 10 and 20. Both stay in use.
 */
const char *numa_init(const struct srat_info *srat, const struct slit_info *slit);

unsigned numa_node_count(void);                   /* at least 1 */
unsigned numa_node_of_address(u64 pa);            /* 0 when no entry says */
unsigned numa_node_of_apic_id(u32 apic_id);       /* 0 when no entry says */
int numa_node_of_proximity(u32 domain);           /* -1: unknown */
/* as in the SLIT; 10 local, 20 remote without one */
u8 numa_distance(unsigned from, unsigned to);

/* The i-th processor that SRAT names; false past the last. */
bool numa_apic_id(unsigned i, u32 *apic_id);

/* The i-th memory range that SRAT names, sorted by address; false past the last. */
bool numa_memory(unsigned i, u64 *start, u64 *end, unsigned *node);

#else
/* Without CONFIG_NUMA all CPUs and all memory are of one node. */

static inline const char *numa_init(const struct srat_info *, const struct slit_info *)
{
	return NULL;
}

static inline unsigned numa_node_count(void)
{
	return 1;
}

static inline unsigned numa_node_of_address(u64)
{
	return 0;
}

static inline unsigned numa_node_of_apic_id(u32)
{
	return 0;
}

static inline int numa_node_of_proximity(u32)
{
	return -1;
}

static inline u8 numa_distance(unsigned, unsigned)
{
	return NUMA_LOCAL_DISTANCE;
}

static inline bool numa_apic_id(unsigned, u32 *)
{
	return false;
}

static inline bool numa_memory(unsigned, u64 *, u64 *, unsigned *)
{
	return false;
}

#endif

#endif
