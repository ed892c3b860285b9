/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the requests of vmm/management/: all run one at a time, and say into the one answer. */
#ifndef VMM_MANAGEMENT_PRIVATE_H
#define VMM_MANAGEMENT_PRIVATE_H

#include <margay/span.h>

#include "vmm/management/management.h"
#include "vmm/config/config.h"

/* A line of the answer. What does not fit is left out, and the last line says so. */
void management_say(const char *fmt, ...) __printf(1, 2);
/*
 * A line that this answer does not have, but another may: it counts, so that what follows keeps its
 * number.
 */
void management_skip(void);
/* Bytes of it as they are: as many as there is room for. */
u32 management_put(const void *data, u32 size);
/* The answer is this error, and this line. Returns -err. */
int management_refuse(int err, const char *fmt, ...) __printf(2, 3);

/* Who has sent the request in hand, as its program says; "": it does not. */
const char *management_user(void);

/*
 * A request: 0, or what management_refuse() has returned. control: the rights of who asks; session:
 * whose bulk data it is.
 */
typedef int management_fn(const struct vm_config_control *control, unsigned session,
			  struct span text);
management_fn management_list, management_show, management_node, management_pci, management_log,
	management_stats, management_create, management_destroy, management_start, management_stop,
	management_restart, management_press, management_nmi, management_pause, management_resume,
	management_read, management_write, management_images, management_image, management_data,
	management_image_end, management_image_remove, management_dump, management_registers,
	management_memory, management_file, management_counts, management_log_from,
	management_events, management_net;

/* images.c: bytes of all images; of those that stay whatever there is no room for. */
u64 images_bytes(void);
u64 images_kept(void);
bool images_have(const char *name);
/* The oldest that no VM file names goes. False: there is none. */
bool images_evict(void);
/*
 * A VM that is made gets the content that its file's name has now: the name becomes one that stays
 * with that. 0, -ENOSPC, or -EEXIST: what that name would be is another content's.
 */
int images_bind(char name[VM_MODULE_MAX + 1]);
/* Of VMs that are there no more. */
void images_unbind(void);
/* Such a name as files and people have it. */
const char *images_shown(const char *name);
/* transfers.c: ends one that has begun; where its next bytes go, NULL: not so many more come. */
void images_close(unsigned session);
u8 *images_place(unsigned session, u64 size);
/* vms.c: bytes that created VMs may take. Does a VM file name the module? */
u64 vms_bytes(void);
/* rights.c: may a VM that is made have what its file wants, but for its memory? 0, or -EINVAL. */
int rights_check(const struct vm_config_control *control, const struct vm_config *c,
		 struct config_error *err);
/*
 * look.c: the slot of the VM of that name, whatever it may do there; else refused, and what that
 * returns.
 */
int vms_look(struct span name);
/* files.c: a copy of a file that is the slot's from now on; false: there is no memory for it. */
bool files_keep(unsigned slot, struct span text);
void files_forget(unsigned slot);
/* Bytes of its scratch disks. */
u64 vms_disk_bytes(const struct vm_config *c);
/* The VM of that name that it may command; NULL, refused: it may not, or there is none. */
struct slot *vms_find(const struct vm_config_control *control, struct span name);
/* the latter: one of the boot */
bool vms_name_module(const char *name), vms_wait_for(const char *name);

#endif
