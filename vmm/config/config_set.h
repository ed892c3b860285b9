/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what is wrong with a VM file only beside the others of its node. file[]: in the boot
 * loader's order, NULL where one is left out. Each returns 0, or -EINVAL with the error in *err.
 * The same judges in the image and in tools/margay-check.
 */
#ifndef VMM_CONFIG_SET_H
#define VMM_CONFIG_SET_H

#include "vmm/config/config.h"

/*
 * Is the name of file i none of the earlier ones', and is one of these the one for whose end it
 * waits? *after: its index; i itself: it waits for none. name[]: of each, left out or not: one that
 * could not start is one for whose end nobody waits long.
 */
int vm_config_check_earlier(const struct vm_config *const file[], const char *const name[],
			    unsigned i, unsigned *after, struct config_error *err);

/*
 * config_sriov.c: is each VF that file i wants one of a function that another file has by its
 * address, with so many?
 */
#if IS_ENABLED(CONFIG_SRIOV)
int vm_config_check_vfs(const struct vm_config *const file[], unsigned count, unsigned i,
			struct config_error *err);
#else
static inline int vm_config_check_vfs(const struct vm_config *const[], unsigned, unsigned,
				      struct config_error *)
{
	return 0;
}
#endif

/* Is file i, if it is trusted, beside trusted ones only? */
int vm_config_check_trusted(const struct vm_config *const file[], unsigned count, unsigned i,
			    struct config_error *err);

#if IS_ENABLED(CONFIG_MANAGEMENT_VM)
/* If it commands, does no earlier one? If a crash keeps it, may another read it? */
int vm_config_check_control(const struct vm_config *const file[], unsigned n, unsigned i,
			    struct config_error *err);
#else
static inline int vm_config_check_control(const struct vm_config *const[], unsigned, unsigned,
					  struct config_error *)
{
	return 0;
}
#endif

#if IS_ENABLED(CONFIG_VIRTIO_NET)
/*
 * Has none of the interfaces of file i an address of an earlier one, or another MTU than such a one
 * of its segment, or VLANs beside one without?
 */
int vm_config_check_net(const struct vm_config *const file[], unsigned i, struct config_error *err);
/*
 * The same: the next interface of file i, from *at on, that is alone on its segment: true, with a
 * line that says so.
 */
bool vm_config_lonely_net(const struct vm_config *const file[], unsigned count, unsigned i,
			  unsigned *at, struct config_error *warning);
#else
static inline int vm_config_check_net(const struct vm_config *const[], unsigned,
				      struct config_error *)
{
	return 0;
}

static inline bool vm_config_lonely_net(const struct vm_config *const[], unsigned, unsigned,
					unsigned *, struct config_error *)
{
	return false;
}
#endif

#endif
