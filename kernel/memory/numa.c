/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: dense NUMA nodes out of ACPI's proximity domains. */
#include "kernel/memory/numa.h"

#include <margay/string.h>

static unsigned nr_nodes = 1;
static u32 domain_of[NUMA_MAX_NODES];
static const struct slit_info *distances; /* NULL: not told */
static const struct srat_info *processors; /* likewise */

static unsigned nr_ranges;
static struct range {
	u64 start;
	u64 end;
	unsigned node;
} ranges[SRAT_MAX_MEMORY];

static void reset(void)
{
	nr_nodes = 1;
	nr_ranges = 0;
	domain_of[0] = 0;
	distances = NULL;
	processors = NULL;
}

/* Keeps domain_of[] sorted; false when there are too many. */
static bool add_domain(u32 domain)
{
	unsigned i = 0;

	while (i < nr_nodes && domain_of[i] < domain)
		i++;
	if (i < nr_nodes && domain_of[i] == domain)
		return true;
	if (nr_nodes == NUMA_MAX_NODES)
		return false;
	memmove(&domain_of[i + 1], &domain_of[i], (nr_nodes - i) * sizeof(domain_of[0]));
	domain_of[i] = domain;
	nr_nodes++;
	return true;
}

static void add_range(u64 start, u64 end, unsigned node)
{
	unsigned i = nr_ranges++;

	for (; i > 0 && ranges[i - 1].start > start; i--)
		ranges[i] = ranges[i - 1];
	ranges[i] = (struct range){ start, end, node };
}

static const char *use_srat(const struct srat_info *srat)
{
	nr_nodes = 0;
	for (unsigned i = 0; i < srat->nr_memory; i++)
		if (!add_domain(srat->memory[i].domain))
			return "SRAT: more than 64 proximity domains";
	for (unsigned i = 0; i < srat->nr_cpus; i++)
		if (!add_domain(srat->cpu[i].domain))
			return "SRAT: more than 64 proximity domains";
	if (!nr_nodes)
		return "SRAT: no proximity domain";
	for (unsigned i = 0; i < srat->nr_memory; i++) {
		/* Whole pages: no page is on two nodes. */
		u64 start = ALIGN_UP(srat->memory[i].base, PAGE_SIZE);
		u64 end = ALIGN_DOWN(srat->memory[i].base + srat->memory[i].size, PAGE_SIZE);

		if (start < end)
			add_range(start, end,
				  (unsigned)numa_node_of_proximity(srat->memory[i].domain));
	}
	for (unsigned i = 1; i < nr_ranges; i++)
		if (ranges[i].start < ranges[i - 1].end)
			return "SRAT: two memory ranges overlap";
	for (unsigned i = 0; i < srat->nr_cpus; i++)
		for (unsigned k = 0; k < i; k++)
			if (srat->cpu[i].apic_id == srat->cpu[k].apic_id &&
			    srat->cpu[i].domain != srat->cpu[k].domain)
				return "SRAT: a processor is in two proximity domains";
	processors = srat;
	return NULL;
}

static const char *use_slit(const struct slit_info *slit)
{
	for (unsigned i = 0; i < nr_nodes; i++)
		if (domain_of[i] >= slit->count)
			return "SLIT: it does not cover all proximity domains of the SRAT";
	distances = slit;
	return NULL;
}

const char *numa_init(const struct srat_info *srat, const struct slit_info *slit)
{
	const char *reason;

	reset();
	if (!srat)
		return NULL;
	reason = use_srat(srat);
	if (reason) {
		reset();
		return reason;
	}
	return slit ? use_slit(slit) : NULL;
}

unsigned numa_node_count(void)
{
	return nr_nodes;
}

unsigned numa_node_of_address(u64 pa)
{
	for (unsigned i = 0; i < nr_ranges; i++)
		if (ranges[i].start <= pa && pa < ranges[i].end)
			return ranges[i].node;
	return 0;
}

unsigned numa_node_of_apic_id(u32 apic_id)
{
	if (!processors)
		return 0;
	for (unsigned i = 0; i < processors->nr_cpus; i++)
		if (processors->cpu[i].apic_id == apic_id)
			return (unsigned)numa_node_of_proximity(processors->cpu[i].domain);
	return 0;
}

bool numa_apic_id(unsigned i, u32 *apic_id)
{
	if (!processors || i >= processors->nr_cpus)
		return false;
	*apic_id = processors->cpu[i].apic_id;
	return true;
}

int numa_node_of_proximity(u32 domain)
{
	for (unsigned i = 0; i < nr_nodes; i++)
		if (domain_of[i] == domain)
			return (int)i;
	return -1;
}

u8 numa_distance(unsigned from, unsigned to)
{
	if (from == to && from < nr_nodes)
		return NUMA_LOCAL_DISTANCE;
	if (!distances || from >= nr_nodes || to >= nr_nodes)
		return NUMA_REMOTE_DISTANCE;
	return distances->distance[domain_of[from] * distances->count + domain_of[to]];
}

bool numa_memory(unsigned i, u64 *start, u64 *end, unsigned *node)
{
	if (i >= nr_ranges)
		return false;
	*start = ranges[i].start;
	*end = ranges[i].end;
	*node = ranges[i].node;
	return true;
}
