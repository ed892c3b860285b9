/* SPDX-License-Identifier: GPL-2.0-only */
/* For the planner's tests: a machine, a VM file, and the plan that comes of them. */
#ifndef TESTS_PLAN_MACHINE_H
#define TESTS_PLAN_MACHINE_H

#include <cmocka.h>

#include <margay/string.h>

#include "vmm/plan/plan.h"

static struct plan_host host, before;
static struct plan plan;
static struct vm_config config;
static struct config_error err;

/*
 * nodes x CPUs each, APIC IDs in sequence, `gib` GiB per node from 4 GiB on; node 0 also has [2
 * MiB, 3 GiB).
 */
static inline void machine(unsigned nodes, unsigned cpus, unsigned smt_shift, u64 gib)
{
	memset(&host, 0, sizeof(host));
	host.nr_nodes = nodes;
	host.nr_cpus = nodes * cpus;
	host.smt_shift = smt_shift;
	host.phys_bits = 48;
	host.leaf_1g = true;
	host.piece[host.nr_pieces++] = (struct plan_piece){ MIB(2), GIB(3), 0 };
	for (unsigned n = 0; n < nodes; n++) {
		host.piece[host.nr_pieces++] =
			(struct plan_piece){ GIB(4 + n * gib), GIB(4 + (n + 1) * gib), n };
		host.node_memory[n] = GIB(gib + (n ? 0 : 3));
		for (unsigned k = 0; k < nodes; k++)
			host.distance[n][k] = (u8)(20 + (n > k ? n - k : k - n));
		host.distance[n][n] = 10;
		for (unsigned k = 0; k < cpus; k++)
			host.cpu[n * cpus + k] = (struct plan_cpu){ .apic_id = n * cpus + k,
								    .node = (u16)n,
								    .online = true };
	}
}

static inline int plan_text(const char *keys)
{
	char text[400];

	snprintf(text, sizeof(text), "kernel = k\n%s", keys);
	if (vm_config_parse("f", text, strlen(text), &config, &err, NULL))
		fail_msg("%s", err.text);
	before = host;
	return plan_vm(&host, &config, &plan, &err);
}

#endif
