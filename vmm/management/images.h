/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between images.c, which has contents and their names, and transfers.c, by which they come. All
 * calls one at a time.
 */
#ifndef VMM_MANAGEMENT_IMAGES_H
#define VMM_MANAGEMENT_IMAGES_H

#include <margay/host.h>

#include "vmm/management/private.h"

#define IMAGE_HASH 32u

/* From the first byte of its transfer on. */
struct content {
	struct host_extent extent;
	/* bytes, how many are there */
	u64 size;
	u64 at;

	u8 hash[IMAGE_HASH];
	unsigned names; /* of images that it is; 0: it is not complete, or free */
};

/* One that has a name; NULL: there is none with this hash. */
struct content *content_find(const u8 *hash);
/*
 * Memory for so many bytes, within the right and if need be in place of images that nobody names;
 * NULL: refused.
 */
struct content *content_take(const struct vm_config_control *control, const char *name, u64 size);
void content_drop(struct content *c);

/*
 * May what has this hash have the name? replace: also one that is another's. The name, terminated,
 * into name[]. 0, or what management_refuse() has returned.
 */
int image_check_name(struct span s, const u8 *hash, bool replace, char name[VM_MODULE_MAX + 1]);
/* It has it from now on. The same. */
int image_name(const char *name, struct content *c);

#endif
