/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See place.h. Planning and taking are one step under a lock: VMs that restart plan on several CPUs
 * at once.
 */
#include "vmm/plan/place.h"

#include <margay/errno.h>
#include <margay/host_rdt.h>
#include <margay/string.h>

#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/hvm.h"
#include "vmm/plan/plan.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"
#include "vmm/vm_parts.h"

static_assert(PLAN_EXTENTS <= VM_MAX_EXTENTS, "all of a VM's memory has its place, and is zeroed");

/*
 * The hypervisor's own memory can take a piece between plan and taking: so often a new plan is
 * made.
 */
#define TRIES 4

/* All that a plan needs; too big for a stack. */
struct scratch {
	struct plan_host host;
	struct plan plan;
};

#define SCRATCH_PAGES (unsigned)(ALIGN_UP(sizeof(struct scratch), PAGE_SIZE) / PAGE_SIZE)

struct spinlock place_lock; /* guards place_owners[] and the order of plan and taking */
const struct vm *place_owners[PLAN_CPUS];
static u64 kept; /* bytes of VMs that are over: vm_keep_extents(); guarded by place_lock */

/* The machine as it is now. Under the lock. */
static void survey(struct plan_host *h, const struct vm_config *config)
{
	const struct host_cpu_info *info;
	struct host_extent piece;

	h->nr_cpus = h->nr_pieces = 0;
	for (unsigned i = 0; i < PLAN_CPUS && (info = host_cpu_info(i)); i++, h->nr_cpus++)
		h->cpu[i] = (struct plan_cpu){
			.apic_id = info->apic_id,
			.node = (u16)info->node,
			.online = info->online && vm_config_may_have(config, i),
			.owner = place_owners[i] ? place_owners[i]->name : NULL,
			.shares = place_owners[i] && place_owners[i]->config->smt_sharing,
		};
	h->nr_nodes = MIN(host_node_count(), PLAN_NODES);
	for (unsigned i = 0; i < h->nr_nodes; i++) {
		h->node_memory[i] = host_node_memory(i);
		for (unsigned k = 0; k < h->nr_nodes; k++)
			h->distance[i][k] = host_node_distance(i, k);
	}
	for (unsigned i = 0; i < PLAN_PIECES && host_mem_piece(i, &piece); i++, h->nr_pieces++)
		h->piece[i] = (struct plan_piece){ piece.base.v, piece.base.v + piece.size,
						   (unsigned)piece.node };
	h->smt_shift = cpuid_smt_shift(host_cpuid_for, NULL);
	h->phys_bits = hvm_caps.phys_bits;
	h->leaf_1g = hvm_caps.stage2_1g;
}

static void free_extents(struct vm *vm)
{
	while (vm->nr_extents)
		host_extent_free(&vm->extent[--vm->nr_extents]);
}

static int take_extents(struct vm *vm, const struct plan *p)
{
	for (; vm->nr_extents < p->nr_extents; vm->nr_extents++) {
		const struct plan_extent *e = &p->extent[vm->nr_extents];
		const struct host_extent_request exactly = {
			.size = e->size,
			.align = PAGE_SIZE_2M,
			.node = (int)e->node,
			.min_addr = e->base,
			.max_addr = e->base + e->size,
		};

		if (host_extent_alloc(&exactly, &vm->extent[vm->nr_extents])) {
			free_extents(vm);
			return -ENOMEM;
		}
	}
	return 0;
}

/* For a VM's arrays by vCPU. */
static unsigned cpu_pages(unsigned cpus)
{
	return (unsigned)(cpus * (sizeof(struct vcpu *) + sizeof(u16)) / PAGE_SIZE) + 1;
}

/* Under the lock. -EAGAIN: what was planned is not free any more. */
static int plan_and_take(struct vm *vm, struct scratch *s, struct config_error *err)
{
	const struct host_rdt_wish wish = { vm->config->cache_ways, vm->config->cache_of,
					    vm->config->bandwidth, vm->config->gigabytes };
	char text[HOST_RDT_TEXT];
	int e;

	survey(&s->host, vm->config);
	e = plan_vm(&s->host, vm->config, &s->plan, err);
	if (e)
		return e;
	if (!host_rdt_take(vm, &wish, s->plan.cpu, s->plan.nr_cpus, text))
		return vm_config_error(err, vm->config->file, vm->config->line_rdt, "%s", text);
	e = take_extents(vm, &s->plan);
	if (!e)
		vm->vcpus = host_pages_alloc(cpu_pages(s->plan.nr_cpus), -1);
	if (e || !vm->vcpus) {
		free_extents(vm);
		host_rdt_free(vm);
		return -EAGAIN;
	}
	vm_parts(vm)->map = s->plan.map;
	vm->nr_host_cpus = s->plan.nr_cpus;
	vm->host_cpu = (u16 *)&vm->vcpus[vm->nr_host_cpus];
	memcpy(vm->host_cpu, s->plan.cpu, vm->nr_host_cpus * sizeof(*vm->host_cpu));
	for (unsigned i = 0; i < vm->nr_host_cpus; i++)
		place_owners[vm->host_cpu[i]] = vm;
	return 0;
}

static bool unowned(unsigned cpu)
{
	return cpu < PLAN_CPUS && !__atomic_load_n(&place_owners[cpu], __ATOMIC_RELAXED);
}

/* All of the VM's memory that is not zero already; stays: whether it is from now on. */
static void zero(struct vm *vm, bool stays)
{
	host_extents_zero(vm->extent, vm->nr_extents, vm->host_cpu, vm->nr_host_cpus, unowned);
	for (unsigned i = 0; i < vm->nr_extents; i++)
		host_extent_is_zero(&vm->extent[i], stays);
}

int place_vm(struct vm *vm)
{
	struct scratch *s = host_pages_alloc(SCRATCH_PAGES, -1);
	struct config_error err;
	int e = -EAGAIN;
	u64 others;

	if (!s)
		return host_no_memory(vm->name);
	spin_lock(&place_lock);
	for (unsigned i = 0; e == -EAGAIN && i < TRIES; i++)
		e = plan_and_take(vm, s, &err);
	others = SLOTS_WAIT && (e == -EAGAIN || e == -ENOMEM) ? kept : 0;
	spin_unlock(&place_lock);
	host_pages_free(s, SCRATCH_PAGES);
	monitor_slots[vm->id].lacks_memory = others;
	/* The next one's turn. */
	__atomic_store_n(&monitor_slots[vm->id].order, 0, __ATOMIC_RELEASE);
	if (e)
		vm_tell(vm, "%s",
			e == -EAGAIN
				? "memory: what was free has just been taken: start the VM again"
				: err.text);
	else
		zero(vm, false);
	if (others)
		vm_log(vm,
		       "memory: %luM are kept until functions of VMs that are over have been reset: it waits for that",
		       others >> 20);
	return e;
}

int place_try(const struct vm_config *config, struct place_trial *out, struct config_error *err)
{
	struct scratch *s = host_pages_alloc(SCRATCH_PAGES, -1);
	u64 nodes = 0;
	int e;

	if (!s)
		return vm_config_error(err, config->file, 0,
				       "no memory left for the hypervisor itself");
	survey(&s->host, config);
	e = plan_vm(&s->host, config, &s->plan, err);
	*out = (struct place_trial){ .cpus = s->plan.nr_cpus };
	if (!e) {
		for (unsigned i = 0; i < s->plan.nr_extents; i++) {
			out->memory += s->plan.extent[i].size;
			nodes |= BIT(s->plan.extent[i].node);
		}
	}
	for (; nodes; nodes &= nodes - 1)
		out->nodes++;
	host_pages_free(s, SCRATCH_PAGES);
	return e;
}

void vm_keep_extents(const struct host_extent *e, unsigned count)
{
	spin_lock(&place_lock);
	for (unsigned i = 0; i < count; i++)
		kept += e[i].size;
	spin_unlock(&place_lock);
}

void vm_let_extents(const struct host_extent *e, unsigned count, bool to_others)
{
	spin_lock(&place_lock);
	for (unsigned i = 0; i < count; i++) {
		kept -= e[i].size;
		if (to_others)
			host_extent_free(&e[i]);
	}
	spin_unlock(&place_lock);
}

void unplace_vm(struct vm *vm)
{
	if (vm->quarantined)
		vm->nr_extents = 0; /* for ever: a device may write there */
	if (vm->quarantined)
		slot_stays(&monitor_slots[vm->id]);
	zero(vm, true);
	host_rdt_free(vm);
	spin_lock(&place_lock);
	free_extents(vm);
	for (unsigned i = 0; i < vm->nr_host_cpus; i++)
		place_owners[vm->host_cpu[i]] = NULL;
	spin_unlock(&place_lock);
	host_pages_free(vm->vcpus, cpu_pages(vm->nr_host_cpus));
}

static const struct vm_stage place_stage = { .at = STAGE_PLACE,
					     .create = place_vm,
					     .destroy = unplace_vm };
VM_STAGE(place_stage);
