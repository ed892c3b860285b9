/* SPDX-License-Identifier: GPL-2.0-only */
/* NUMA nodes in a VM's ACPI tables: the host's become dense proximity domains, in their order. */
#include "vmm/acpi/guest_acpi_parts.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

/*
 * The host's nodes that the VM has memory or CPUs on, in their order; all as one where it sees no
 * nodes.
 */
static void number_nodes(struct acpi_collected *c, const struct vm *vm)
{
	const struct gpa_map *map = &vm_parts(vm)->map;
	u64 used = 0;

	for (unsigned i = 0; i < map->count; i++)
		used |= BIT(map->region[i].node);
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		used |= BIT(host_cpu_info(vm->vcpus[i]->cpu)->node);
	for (int n = 0; n < ACPI_GUEST_MAX_NODES; n++) {
		if (!(used & BIT(n)))
			continue;
		c->host_node[c->guest.nr_nodes++] = n;
		if (vm->config->flat)
			break;
	}
}

static void collect_distances(struct acpi_collected *c)
{
	unsigned n = c->guest.nr_nodes;

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			c->distances[i * n + j] =
				i == j ? 10
				       : host_node_distance((unsigned)c->host_node[i],
							    (unsigned)c->host_node[j]);
}

void guest_acpi_nodes(struct acpi_collected *c, const struct vm *vm)
{
	number_nodes(c, vm);
	collect_distances(c);
}

u32 guest_acpi_domain(const struct acpi_collected *c, int host_node)
{
	u32 domain = 0;

	while (domain + 1 < c->guest.nr_nodes && c->host_node[domain] != host_node)
		domain++;
	return domain;
}
