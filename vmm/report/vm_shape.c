/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines at a VM's start that say what it has got: memory, interrupts, second-level tables. */
#include "vmm/stage.h"
#include "vmm/vm_parts.h"

static int shape_vm_create(struct vm *vm)
{
	const struct vm_parts *parts = vm_parts(vm);
	const struct stage2 *s = &parts->stage2;

	for (unsigned i = 0; i < parts->map.count; i++) {
		const struct gpa_region *r = &parts->map.region[i];

		vm_tell(vm, "memory: %luM on node %d: %#lx is at %#lx", r->size >> 20, r->node,
			r->gpa, r->hpa);
	}
	if (vm_direct(vm) || vm->not_direct)
		vm_tell(vm, "interrupts: %s%s",
			vm->direct ? "direct" : "emulated: ", vm->direct ? "" : vm->not_direct);
	vm_tell(vm, "%s: %lu 1G, %lu 2M, %lu 4K leaves, %u tables", s->fmt->name,
		s->leaves[LEAF_1G], s->leaves[LEAF_2M], s->leaves[LEAF_4K], s->tables);
	return 0;
}

static const struct vm_stage shape_stage = { .at = STAGE_SHAPE, .create = shape_vm_create };
VM_STAGE(shape_stage);
