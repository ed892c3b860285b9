/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loaders of guest kernels other than Linux: each registers itself with
 * LOADER() and claims an image by what stands in it. What nobody claims is
 * Linux' (vmm/load/load_linux.h).
 */
#ifndef VMM_LOADER_H
#define VMM_LOADER_H

#include <margay/types.h>

struct host_module;
struct vm;

struct loader {
	/* Is the image this loader's? */
	bool (*probe)(const struct host_module *kernel);
	/*
	 * Places the kernel and vm->config->module[i], whose data module[i] is, in
	 * the VM's RAM, and sets vm->entry_rip, entry_info and entry_state. The RAM
	 * is zeroed, its map complete, vm->rsdp known. Before any vCPU runs; no
	 * locking. 0; -ENOEXEC: a damaged image; -E2BIG, -ENOMEM: no room. Printed.
	 */
	int (*load)(struct vm *vm, const struct host_module *kernel,
		    const struct host_module *const *module);
};

/*
 * A line about an image or a module that is not what it should be. With BOOT_LOG load_check() has
 * said that before, here as elsewhere.
 */
#define load_tell(vm, fmt, ...) \
	do { \
		if (!IS_ENABLED(CONFIG_BOOT_LOG)) \
			vm_tell(vm, fmt, ##__VA_ARGS__); \
	} while (0)

#define LOADER(ops) \
	static const struct loader *const ops##_entry __used __section("loaders") = &(ops)

#endif
