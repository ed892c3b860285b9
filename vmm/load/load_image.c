/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel of a VM: by the loader that knows the image; Linux' own else, which says what is wrong
 * with it.
 */
#include <margay/errno.h>

#include "vmm/load/load_linux.h"
#include "vmm/load/loader.h"
#include "vmm/stage.h"
#include "vmm/vm.h"

extern const struct loader *const __start_loaders[], *const __stop_loaders[];

static int image_vm_create(struct vm *vm)
{
	const struct vm_config *c = vm->config;
	const struct host_module *kernel = vm_find_module(c->kernel), *module[VM_MODULES_MAX];

	for (unsigned i = 0; i < vm_config_modules(c); i++)
		module[i] = vm_find_module(c->module[i].name);
	for (const struct loader *const *l = __start_loaders;
	     IS_ENABLED(CONFIG_MULTIBOOT) && l < __stop_loaders; l++) {
		if (!(*l)->probe(kernel))
			continue;
		if (c->initrd[0]) {
			load_tell(
				vm,
				"kernel %s is no Linux kernel and takes no initrd: name what it wants by module =",
				c->kernel);
			return -EINVAL;
		}
		return (*l)->load(vm, kernel, module);
	}
	return load_linux(vm, kernel, module, c->initrd[0] ? vm_find_module(c->initrd) : NULL,
			  c->cmdline);
}

static const struct vm_stage image_stage = { .at = STAGE_IMAGE, .create = image_vm_create };
VM_STAGE(image_stage);
