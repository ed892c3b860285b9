/* SPDX-License-Identifier: GPL-2.0-only */
/* A module that is not there: the boot loader may have had no room for it. */
#include <margay/host.h>

#include "vmm/load/load_check.h"

int load_no_module(const struct vm_config *c, const struct vm_config_name *name,
		   struct config_error *e)
{
	return vm_config_error(e, c->file, name->line,
			       VM_CONFIG_NO_MODULE "; it had room for one of %lu MiB", name->key,
			       name->name, host_module_room() >> 20);
}
