/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: is what a VM file names what it should be? Before anything is taken for the VM;
 * tools/margay-check asks, too.
 */
#ifndef VMM_LOAD_CHECK_H
#define VMM_LOAD_CHECK_H

#include "vmm/config/config.h"

/*
 * What a file is that is neither a kernel nor a text, and what to do: a short text; NULL: not
 * known.
 */
const char *load_hint(const void *data, u64 size);

#if IS_ENABLED(CONFIG_BOOT_LOG)
/*
 * The file of that name (vm_config_name()), as its loader will find it. *is_linux: is the kernel?
 * Set when it is checked, first. 0, or -EINVAL with the error in *err.
 */
int load_check(const struct vm_config *c, const struct vm_config_name *name, const void *data,
	       u64 size, bool *is_linux, struct config_error *err);

/*
 * no_module.c: there is none of that name. -EINVAL; who has made a medium with it will not look for
 * what the boot loader had no room for.
 */
int load_no_module(const struct vm_config *c, const struct vm_config_name *name,
		   struct config_error *err);
#else
static inline int load_no_module(const struct vm_config *c, const struct vm_config_name *name,
				 struct config_error *err)
{
	return vm_config_error(err, c->file, name->line, VM_CONFIG_NO_MODULE, name->key,
			       name->name);
}

/* The loaders say it themselves then: load_tell(). */
static inline int load_check(const struct vm_config *, const struct vm_config_name *, const void *,
			     u64, bool *, struct config_error *)
{
	return 0;
}
#endif

#endif
