/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: which part of the machine a VM gets. From the machine's CPUs,
 * cores, NUMA nodes and free memory, what other VMs own, and the VM file it
 * makes a host CPU for each vCPU, extents of memory, and their guest-physical
 * map; or one clear error. Takes nothing itself: vmm/plan/place.c does.
 */
#ifndef VMM_PLAN_H
#define VMM_PLAN_H

#include <margay/types.h>
#include "vmm/config/config.h"
#include "vmm/memory/gpa_map.h"

#define PLAN_CPUS VM_CPUS_MAX
#define PLAN_NODES (IS_ENABLED(CONFIG_NUMA) ? 64 : 1)
#define PLAN_PIECES 512
#define PLAN_EXTENTS 16

struct plan_cpu {
	u32 apic_id;
	u16 node;
	bool online;
	bool shares;       /* its owner lets others have the core's other threads */
	bool usable;       /* plan_vm()'s own */
	bool chosen;       /* plan_vm()'s own */
	const char *owner; /* name of the VM that has it; NULL: none */
};

/* Free memory [start, end) on one node; sorted by address, no overlap. */
struct plan_piece {
	u64 start;
	u64 end;
	unsigned node;
};

/* The machine as it is now. Too big for a stack. */
struct plan_host {
	unsigned nr_cpus;
	unsigned nr_nodes;
	unsigned nr_pieces;
	unsigned smt_shift; /* APIC ID bits that tell the threads of a core apart */
	unsigned phys_bits; /* of guest-physical addresses */
	bool leaf_1g;       /* second-level tables have 1 GiB leaves */
	/* bytes for guests when the machine was idle; 0: a node without memory */
	u64 node_memory[PLAN_NODES];
	u8 distance[PLAN_NODES][PLAN_NODES]; /* as in the SLIT */
	struct plan_cpu cpu[PLAN_CPUS];
	struct plan_piece piece[PLAN_PIECES];
};

#if IS_ENABLED(CONFIG_LOST_CPUS)
/* Is it a VM's, and has it not answered a kick? */
static inline bool plan_is_lost(const struct plan_host *h, unsigned cpu)
{
	return h->cpu[cpu].owner && !h->cpu[cpu].online;
}
#else
static inline bool plan_is_lost(const struct plan_host *, unsigned)
{
	return false;
}
#endif

static inline unsigned plan_nodes(const struct plan_host *h)
{
	return IS_ENABLED(CONFIG_NUMA) ? h->nr_nodes : 1;
}

/* Nodes that the VM file names for its memory. */
static inline unsigned plan_memory_nodes(const struct vm_config *c)
{
	return IS_ENABLED(CONFIG_NUMA) ? c->nr_memory_nodes : 0;
}

/*
 * Memory that devices reach, by the host's addresses or by windows: not all of
 * it above 4 GiB, not where no guest has RAM, and the first MiB from anywhere.
 */
static inline bool plan_for_devices(const struct vm_config *c)
{
	return IS_ENABLED(CONFIG_PASSTHROUGH) &&
	       (c->memory_map == VM_MAP_IDENTITY || c->dma == VM_DMA_WINDOW);
}

struct plan_extent {
	/* multiples of 2 MiB */
	u64 base;
	u64 size;

	unsigned node;
};

struct plan {
	unsigned nr_cpus;
	u16 cpu[VM_CPUS_MAX]; /* by vCPU */
	unsigned nr_extents;
	struct plan_extent extent[PLAN_EXTENTS];
	struct gpa_map map;
};

/*
 * Plans a VM; *h is used up. CPUs: those the file pins; else, of the fewest
 * NUMA nodes that hold CPUs and memory, whole cores first, in the machine's
 * order. Memory: on the nodes of the CPUs in proportion to them, or as the file
 * says, each node's in as few pieces as there can be, 1 GiB aligned if that
 * fits. 0; or, with what is wrong and what is free in *err, -ENOMEM for what
 * more free memory would mend, else -EINVAL.
 */
int plan_vm(struct plan_host *h, const struct vm_config *c, struct plan *p,
	    struct config_error *err);

/*
 * plan_memory.c: bytes of whole 2 MiB pages free on a node; *largest (may be NULL): the largest
 * piece.
 */
u64 plan_free(const struct plan_host *h, unsigned node, u64 *largest);
/*
 * plan_memory.c: for memory that devices reach: nothing of what lies where no guest has RAM may be
 * taken.
 */
void plan_forbid_holes(struct plan_host *h);
/* plan_memory.c: bytes wanted of each node, after the CPUs are chosen. */
void plan_demand(const struct plan_host *h, const struct vm_config *c, const unsigned cpus[],
		 u64 demand[]);
/* plan_memory.c: extents and map for the demand. */
int plan_memory(struct plan_host *h, const struct vm_config *c, u64 demand[], struct plan *p,
		struct config_error *err);

#endif
