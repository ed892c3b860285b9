/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modules that a VM file names, and what of such a file only the node can judge: are they
 * there, and is its clock one.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/load/load_check.h"
#include "vmm/stage.h"
#include "vmm/vm.h"

const struct host_module *vm_find_module(const char *name)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

static int tell(struct vm *vm, const struct config_error *e)
{
	vm_tell(vm, "%s", e->text);
	return -EINVAL;
}

static int check_clock(const struct vm_config *c, struct config_error *e)
{
	if (vm_config_freezes(c) && !host_tsc_stable())
		return vm_config_error(
			e, c->file, c->line_clock,
			"clock = freeze: the TSCs of this node are not one clock that could stand still: use follow");
	if (vm_config_tsc_only(c) && !host_tsc_stable())
		return vm_config_error(
			e, c->file, c->line_pvclock,
			"pvclock = no: the TSCs of this node are not one clock, and the guest has no other: use yes");
	return 0;
}

/* Each file that is not there is told; of those that are, one that is wrong. */
static int modules_vm_create(struct vm *vm)
{
	const struct vm_config *c = vm->config;
	struct vm_config_name name;
	struct config_error e;
	bool is_linux = false;
	int err = check_clock(c, &e) ? tell(vm, &e) : 0;

	for (unsigned i = 0; vm_config_name(c, i, &name); i++) {
		const struct host_module *m = vm_find_module(name.name);
		bool wrong = !m;

		if (!m)
			load_no_module(c, &name, &e);
		else if (!err)
			wrong = load_check(c, &name, m->data, m->size, &is_linux, &e);
		if (wrong)
			err = tell(vm, &e);
	}
	return err;
}

static const struct vm_stage modules_stage = { .at = STAGE_MODULES, .create = modules_vm_create };
VM_STAGE(modules_stage);
