/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's keys for CPUs, memory and topology: which part of the node a VM gets,
 * and how it sees it.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/config/config_parse.h"

/* One element of a CPU list, `a` or `a-b`, which *s is left behind. */
static bool cpu_range(struct span *s, u64 *first, u64 *last)
{
	if (!span_number(s, 10, first))
		return false;
	*last = *first;
	if (!span_skip(s, "-"))
		return true;
	return span_number(s, 10, last) && *last >= *first;
}

static int add_cpus(struct parser *p, u64 first, u64 last)
{
	struct vm_config *c = p->config;

	if (last >= VM_CPUS_MAX)
		return config_fail(p, "cpus: expected numbers up to %u, found %lu", VM_CPUS_MAX - 1,
				   last);
	for (u64 cpu = first; cpu <= last; cpu++) {
		for (unsigned i = 0; i < c->cpus; i++)
			if (c->cpu[i] == cpu)
				return config_fail(p, "cpus: CPU %lu is named twice", cpu);
		c->cpu[c->cpus++] = (u16)cpu;
	}
	return 0;
}

/* `4-7`, `1-3,6`: the CPUs of vCPU 0, 1, ... */
static int set_cpu_list(struct parser *p, struct span v)
{
	struct span rest = v;

	p->config->cpus = 0;
	p->config->pinned = true;
	for (;;) {
		u64 first, last;
		int err;

		if (!cpu_range(&rest, &first, &last) || (rest.n && rest.p[0] != ','))
			return config_wrong(p, "cpus", "a list of CPUs like 1-3,6", v);
		err = add_cpus(p, first, last);
		if (err || !rest.n)
			return err;
		rest.p++;
		rest.n--;
	}
}

int config_set_cpus(struct parser *p, struct span v)
{
	const char *expected = HAS(CONFIG_VM_SHARING)
				       ? "a number of vCPUs, a list of CPUs like 1-3,6, or all"
				       : "a number of vCPUs, or all";
	struct span rest = v;
	u64 n;

	if (span_is(v, "all")) {
		p->config->cpus = 0;
		return 0;
	}
	if (!span_number(&rest, 10, &n))
		return config_wrong(p, "cpus", expected, v);
	if (rest.n && (rest.p[0] == '-' || rest.p[0] == ','))
		return HAS(CONFIG_VM_SHARING)
			       ? set_cpu_list(p, v)
			       : config_fail(p, "cpus: a list needs CONFIG_VM_SHARING");
	if (rest.n)
		return config_wrong(p, "cpus", expected, v);
	if (n < 1 || n > VM_CPUS_MAX)
		return config_fail(p, "cpus: expected 1 to %u vCPUs, found %lu", VM_CPUS_MAX, n);
	p->config->cpus = (unsigned)n;
	return 0;
}

static_assert(VM_MEMORY_MIN == MIB(32) && VM_MEMORY_MAX == GIB(65536), "as config_size() says");

int config_size(struct parser *p, struct span v, u64 *out)
{
	static const char units[] = { 'K', 'M', 'G', 'T' };
	struct span rest = v;
	unsigned shift = 0;
	u64 n;

	if (!span_number(&rest, 10, &n) || rest.n != 1)
		return config_wrong(p, p->key, "a size with K, M, G or T, like 512M or 12G", v);
	for (unsigned i = 0; i < ARRAY_SIZE(units); i++)
		if (rest.p[0] == units[i])
			shift = 10 * (i + 1);
	if (!shift)
		return config_wrong(p, p->key, "a size with K, M, G or T, like 512M or 12G", v);
	if (n > VM_MEMORY_MAX >> shift || n << shift < VM_MEMORY_MIN)
		return config_wrong(p, p->key, "32M to 64T", v);
	*out = n << shift;
	if (!IS_ALIGNED(*out, PAGE_SIZE_2M))
		return config_wrong(p, p->key, "a multiple of 2M", v);
	return 0;
}

/* `node<N>:<size>` or `node<N>:all` */
static int add_node_memory(struct parser *p, struct span v)
{
	static const char expected[] = "a part like node0:8G or node0:all";
	struct vm_config *c = p->config;
	struct span rest = v;
	u64 node, size = 0;

	if (!span_skip(&rest, "node") || !span_number(&rest, 10, &node) ||
	    node > VM_NODE_NUMBER_MAX || !rest.n || rest.p[0] != ':')
		return config_wrong(p, "memory", expected, v);
	rest = span_trim((struct span){ rest.p + 1, rest.n - 1 });
	if (!span_is(rest, "all") && config_size(p, rest, &size))
		return -EINVAL;
	for (unsigned i = 0; i < c->nr_memory_nodes; i++)
		if (c->memory_node[i].node == node)
			return config_fail(p, "memory: node%lu is named twice", node);
	if (c->nr_memory_nodes == VM_MEMORY_NODES)
		return config_fail(p, "memory: expected at most %u nodes", VM_MEMORY_NODES);
	c->memory_node[c->nr_memory_nodes].node = (u16)node;
	c->memory_node[c->nr_memory_nodes++].size = size;
	return 0;
}

int config_set_memory(struct parser *p, struct span v)
{
	if (span_is(v, "all"))
		return 0;
	if (v.p[0] == 'n' && !HAS(CONFIG_NUMA))
		return config_fail(p, "memory: of one node: needs CONFIG_NUMA");
	if (v.p[0] != 'n')
		return config_size(p, v, &p->config->memory);
	return config_list(p, "memory", "another node behind the comma", v, add_node_memory);
}
