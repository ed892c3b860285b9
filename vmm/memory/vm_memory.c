/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's memory as its CPUs reach it: the second-level tables over what it was given, and the MTRRs
 * that it finds.
 */
#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/memory/split.h"
#include "vmm/stage.h"
#include "vmm/vm_parts.h"

static_assert((int)VM_LEAF_4K == LEAF_4K && (int)VM_LEAF_2M == LEAF_2M &&
		      (int)VM_LEAF_1G == LEAF_1G,
	      "the same order");

/*
 * Where tables for what lies on a node come from: there, if the VM has CPUs there, else from the
 * node of its first. These walk them.
 */
static int node_of_tables(const struct vm *vm, int node)
{
	if (!IS_ENABLED(CONFIG_NUMA))
		return -1;
	for (unsigned i = 0; i < vm->nr_host_cpus; i++)
		if (host_cpu_info(vm->host_cpu[i])->node == node)
			return node;
	return host_cpu_info(vm->host_cpu[0])->node;
}

static int memory_vm_create(struct vm *vm)
{
	struct vm_parts *parts = vm_parts(vm);
	enum stage2_leaf leaf =
		MIN((enum stage2_leaf)vm->config->leaf, hvm_caps.stage2_1g ? LEAF_1G : LEAF_2M);
	int err = stage2_init(&parts->stage2, hvm->stage2_format, &stage2_host_pages, leaf,
			      node_of_tables(vm, -1));

	mtrr_reset(&parts->mtrr, GPA_HOLE_START, GPA_HOLE_END, hvm_caps.phys_bits);
	parts->stage2.small_exec = vm_splits(vm);
	for (unsigned i = 0; !err && i < parts->map.count; i++) {
		const struct gpa_region *r = &parts->map.region[i];

		parts->stage2.node = node_of_tables(vm, r->node);
		err = vm_map_host(vm, gpa(r->gpa), hpa(r->hpa), r->size, STAGE2_RWX, MEMTYPE_WB);
	}
	parts->stage2.node = node_of_tables(vm, -1);
	if (err == -ENOMEM)
		return host_no_memory(vm->name);
	if (err)
		vm_tell(vm, "%s tables: internal map error", hvm->stage2_format->name);
	return err;
}

static void memory_vm_destroy(struct vm *vm)
{
	stage2_destroy(&vm_parts(vm)->stage2);
}

static const struct vm_stage memory_stage = { .at = STAGE_TABLES,
					      .create = memory_vm_create,
					      .destroy = memory_vm_destroy };
VM_STAGE(memory_stage);
