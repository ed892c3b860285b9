/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making and unmaking a virtual machine: its own memory, and the stages that make the rest
 * (stage.h).
 */
#include "vmm/vm.h"

#include <margay/string.h>

#include "vmm/stage.h"
#include "vmm/vm/devices.h"
#include "vmm/vm_parts.h"

/*
 * What a VM is: its parts, and behind them a pointer for each device that this image was linked
 * with.
 */
static unsigned vm_pages(void)
{
	return (unsigned)(ALIGN_UP(sizeof(struct vm_parts) + devices_count() * sizeof(void *),
				   PAGE_SIZE) /
			  PAGE_SIZE);
}

int vm_create(const struct vm_config *config, unsigned id, struct vm **out)
{
	unsigned pages = vm_pages();
	struct vm_parts *parts = host_pages_alloc(pages, -1);
	struct vm *vm;
	int err;

	if (!parts)
		return host_no_memory(config->name);
	vm = &parts->vm;
	vm->device = (void **)(parts + 1);
	vm->own_bytes = pages * PAGE_SIZE;
	vm->id = id;
	vm->config = config;
	memcpy(vm->name, config->name, sizeof(vm->name));
	host_account(&vm->own_bytes);
	err = stages_create(vm);
	host_account(NULL);
	if (err)
		vm_destroy(vm);
	else
		*out = vm;
	return err;
}

void vm_destroy(struct vm *vm)
{
	stages_destroy(vm);
	host_pages_free(vm_parts(vm), vm_pages());
}
