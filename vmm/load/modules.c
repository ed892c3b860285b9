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

static int modules_vm_create(struct vm *vm)
{
	const struct vm_config *c = vm->config;
	struct vm_config_name name;
	struct config_error e;
	bool is_linux = false;
	int err = 0;

	for (unsigned i = 0; !err && vm_config_name(c, i, &name); i++) {
		const struct host_module *m = vm_find_module(name.name);

		if (!m)
			err = load_no_module(c, &name, &e);
		else
			err = load_check(c, &name, m->data, m->size, &is_linux, &e);
	}
	if (!err && vm_config_freezes(c) && !host_tsc_stable())
		err = vm_config_error(
			&e, c->file, c->line_clock,
			"clock = freeze: the TSCs of this node are not one clock that could stand still: use follow");
	if (!err && vm_config_tsc_only(c) && !host_tsc_stable())
		err = vm_config_error(
			&e, c->file, c->line_pvclock,
			"pvclock = no: the TSCs of this node are not one clock, and the guest has no other: use yes");
	if (err)
		vm_tell(vm, "%s", e.text);
	return err;
}

static const struct vm_stage modules_stage = { .at = STAGE_MODULES, .create = modules_vm_create };
VM_STAGE(modules_stage);
