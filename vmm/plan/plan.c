/* SPDX-License-Identifier: GPL-2.0-only */
/* The planner's choice of CPUs and NUMA nodes (see plan.h). */
#include "vmm/plan/plan.h"

#include <margay/string.h>

static bool same_core(const struct plan_host *h, unsigned a, unsigned b)
{
	return h->cpu[a].apic_id >> h->smt_shift == h->cpu[b].apic_id >> h->smt_shift;
}

/*
 * The CPU whose owner keeps CPU i from this VM: itself or a thread of the same core; -1: none does.
 */
static int blocker(const struct plan_host *h, const struct vm_config *c, unsigned i)
{
	if (h->cpu[i].owner)
		return (int)i;
	if (!IS_ENABLED(CONFIG_VM_SHARING))
		return -1;
	for (unsigned k = 0; k < h->nr_cpus; k++)
		if (h->cpu[k].owner && same_core(h, i, k) && !(c->smt_sharing && h->cpu[k].shares))
			return (int)k;
	return -1;
}

/* ---- a pinned list ----------------------------------------------------------- */

static int refuse_cpu(const struct plan_host *h, const struct vm_config *c, unsigned cpu,
		      struct config_error *err)
{
	int by = blocker(h, c, cpu);

	if (by == (int)cpu)
		return vm_config_error(err, c->file, c->line_cpus, "cpus: CPU %u is %s's%s", cpu,
				       h->cpu[cpu].owner,
				       plan_is_lost(h, cpu) ? " and did not answer a kick" : "");
	return vm_config_error(
		err, c->file, c->line_cpus,
		"cpus: CPU %u is a thread of CPU %d's core, which is %s's: both need allow_smt_sharing = yes",
		cpu, by, h->cpu[by].owner);
}

static int choose_pinned(struct plan_host *h, const struct vm_config *c, struct plan *p,
			 struct config_error *err)
{
	unsigned online = 0;

	for (unsigned i = 0; i < h->nr_cpus; i++)
		online = h->cpu[i].online || plan_is_lost(h, i) ? i + 1 : online;
	for (unsigned i = 0; i < c->cpus; i++) {
		unsigned cpu = c->cpu[i];

		if (cpu >= online)
			return vm_config_error(err, c->file, c->line_cpus,
					       "cpus: the machine has CPUs 0-%u, found %u",
					       online - 1, cpu);
		if (!h->cpu[cpu].usable)
			return refuse_cpu(h, c, cpu, err);
		h->cpu[cpu].chosen = true;
		p->cpu[p->nr_cpus++] = (u16)cpu;
	}
	return 0;
}

/* ---- a number of CPUs ------------------------------------------------------------ */

static unsigned usable_on(const struct plan_host *h, unsigned node)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->nr_cpus; i++)
		n += h->cpu[i].usable && h->cpu[i].node == node;
	return n;
}

static int refuse_count(const struct plan_host *h, const struct vm_config *c, unsigned wanted,
			struct config_error *err)
{
	char list[120] = "";
	unsigned all = 0, owned = 0;

	for (unsigned i = 0; i < h->nr_cpus; i++) {
		all += h->cpu[i].online;
		owned += h->cpu[i].online && !h->cpu[i].usable;
	}
	if (wanted > all)
		return vm_config_error(err, c->file, c->line_cpus,
				       vm_config_is_created(c)
					       ? "cpus: control_may has %u of the node's, found %u"
					       : "cpus: the machine has %u, found %u",
				       all, wanted);
	for (unsigned n = 0; n < plan_nodes(h); n++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s node%u %u",
			 n ? "," : "", n, usable_on(h, n));
	return vm_config_error(
		err, c->file, c->line_cpus,
		"cpus: %u wanted%s, free are%s; %u belong to other VMs or share a core with theirs",
		wanted, plan_memory_nodes(c) ? " on the nodes of its memory" : "", list, owned);
}

/* n usable CPUs of a node, core by core. */
static void choose_on(struct plan_host *h, unsigned node, unsigned n)
{
	for (unsigned i = 0; n && i < h->nr_cpus; i++) {
		if (!h->cpu[i].usable || h->cpu[i].chosen || h->cpu[i].node != node)
			continue;
		for (unsigned k = i; n && k < h->nr_cpus; k++) {
			if (h->cpu[k].usable && !h->cpu[k].chosen && h->cpu[k].node == node &&
			    same_core(h, i, k)) {
				h->cpu[k].chosen = true;
				n--;
			}
		}
	}
}

/*
 * Distributes n CPUs over nodes as evenly as they have them: cpus[] by node. False: they have not
 * so many.
 */
static bool spread(const unsigned *node, unsigned nr, const unsigned *have, unsigned n,
		   unsigned *cpus)
{
	memset(cpus, 0, PLAN_NODES * sizeof(cpus[0]));
	while (n) {
		unsigned before = n;

		for (unsigned i = 0; n && i < nr; i++) {
			if (cpus[node[i]] < have[node[i]]) {
				cpus[node[i]]++;
				n--;
			}
		}
		if (n == before)
			return false;
	}
	return true;
}

static bool memory_fits(const struct plan_host *h, const struct vm_config *c, const unsigned *cpus)
{
	u64 demand[PLAN_NODES];

	plan_demand(h, c, cpus, demand);
	for (unsigned n = 0; n < plan_nodes(h); n++)
		if (demand[n] > plan_free(h, n, NULL))
			return false;
	return true;
}

/* Fills node[] with those that the CPUs may be on. */
static unsigned candidates(const struct plan_host *h, const struct vm_config *c,
			   const unsigned *have, unsigned *node)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < plan_memory_nodes(c); i++)
		if (c->memory_node[i].node < plan_nodes(h) && have[c->memory_node[i].node])
			node[nr++] = c->memory_node[i].node;
	if (nr && !c->remote_memory)
		return nr;
	nr = 0;
	for (unsigned n = 0; n < plan_nodes(h); n++)
		if (have[n])
			node[nr++] = n;
	return nr;
}

/* Without NUMA. */
static int choose_of_one_node(struct plan_host *h, const struct vm_config *c,
			      struct config_error *err)
{
	unsigned total = usable_on(h, 0);
	unsigned n = c->cpus ? c->cpus : MAX(total, 1u);

	if (n > total)
		return refuse_count(h, c, n, err);
	choose_on(h, 0, n);
	return 0;
}

/*
 * n CPUs of the fewest neighbours of these nodes that have them and their memory, by node; failing
 * that, of the fewest that have the CPUs. False: these have not so many.
 */
static bool spread_over_few(const struct plan_host *h, const struct vm_config *c,
			    const unsigned *have, unsigned n, unsigned *best)
{
	unsigned node[PLAN_NODES], cpus[PLAN_NODES];
	unsigned nr = candidates(h, c, have, node);
	unsigned fewest = plan_memory_nodes(c) && !c->remote_memory ? MAX(nr, 1u) : 1;
	bool found = false;

	for (unsigned size = fewest; size <= nr; size++) {
		for (unsigned first = 0; first + size <= nr; first++) {
			bool fits;

			if (!spread(node + first, size, have, n, cpus))
				continue;
			fits = memory_fits(h, c, cpus);
			if (fits || !found)
				memcpy(best, cpus, sizeof(cpus));
			if (fits)
				return true;
			found = true;
		}
	}
	return found;
}

static int choose_of_nodes(struct plan_host *h, const struct vm_config *c, struct config_error *err)
{
	unsigned have[PLAN_NODES], cpus[PLAN_NODES], total = 0, wanted;

	for (unsigned n = 0; n < plan_nodes(h); n++) {
		have[n] = usable_on(h, n);
		total += have[n];
	}
	wanted = c->cpus ? c->cpus : total;
	if (!total || !spread_over_few(h, c, have, wanted, cpus))
		return refuse_count(h, c, c->cpus ? c->cpus : 1, err);
	for (unsigned n = 0; n < plan_nodes(h); n++)
		choose_on(h, n, cpus[n]);
	return 0;
}

static int choose_count(struct plan_host *h, const struct vm_config *c, struct config_error *err)
{
	return IS_ENABLED(CONFIG_NUMA) ? choose_of_nodes(h, c, err) : choose_of_one_node(h, c, err);
}

int plan_vm(struct plan_host *h, const struct vm_config *c, struct plan *p,
	    struct config_error *err)
{
	unsigned cpus[PLAN_NODES] = { 0 };
	u64 demand[PLAN_NODES];
	int e;

	memset(p, 0, sizeof(*p));
	for (unsigned i = 0; i < plan_memory_nodes(c); i++)
		if (c->memory_node[i].node >= plan_nodes(h))
			return vm_config_error(
				err, c->file, c->line_memory,
				"memory: the machine has NUMA nodes 0-%u, found node%u",
				plan_nodes(h) - 1, c->memory_node[i].node);
	if (plan_for_devices(c))
		plan_forbid_holes(h);
	for (unsigned i = 0; i < h->nr_cpus; i++) {
		h->cpu[i].usable = h->cpu[i].online && blocker(h, c, i) < 0;
		h->cpu[i].chosen = false;
	}
	e = vm_config_pinned(c) ? choose_pinned(h, c, p, err) : choose_count(h, c, err);
	if (e)
		return e;
	for (unsigned i = 0; i < h->nr_cpus; i++) {
		if (!h->cpu[i].chosen)
			continue;
		cpus[h->cpu[i].node]++;
		if (vm_config_pinned(c))
			continue;
		p->cpu[p->nr_cpus++] = (u16)i;
	}
	plan_demand(h, c, cpus, demand);
	return plan_memory(h, c, demand, p, err);
}
