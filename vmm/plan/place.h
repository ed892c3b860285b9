/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives a VM its part of the machine, as the planner says (plan.h), and takes it back. Knows which
 * VM has which CPU.
 */
#ifndef VMM_PLACE_H
#define VMM_PLACE_H

#include <margay/spinlock.h>
#include <margay/types.h>
#include "vmm/plan/plan.h"

struct config_error;
struct vm;
struct vm_config;

/*
 * Plans the VM and takes its CPUs and its memory, which it zeroes: sets
 * vm->host_cpu, vm->nr_host_cpus, vm->vcpus (empty), vm->extent and the VM's map. 0, or -errno
 * (printed). Any CPU.
 */
int place_vm(struct vm *vm);

/* What a VM would get now; nothing is taken. */
struct place_trial {
	/* nodes: with memory for it */
	unsigned cpus;
	unsigned nodes;

	u64 memory;
};

/* Plans only. 0, or -errno and why in *err. Boot CPU, before any VM. */
int place_try(const struct vm_config *config, struct place_trial *out, struct config_error *err);

/*
 * Zeroes the VM's memory and gives it and its CPUs back. No vCPU runs. Does nothing for a VM that
 * has no place.
 */
void unplace_vm(struct vm *vm);

/* Has a VM the CPU? Its name then, VM_NAME_MAX + 1 bytes. Any CPU. */
bool place_owner(unsigned cpu, char *name);

/*
 * Bytes of guest memory on a NUMA node that the VM has whose first CPU this is, and its name as
 * above; 0: none. Any CPU.
 */
u64 place_memory(unsigned cpu, unsigned node, char *name);

/* place.c's and place_report.c's: who has each CPU, under the lock. */
extern struct spinlock place_lock;
extern const struct vm *place_owners[PLAN_CPUS];

#endif
