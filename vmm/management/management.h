/* SPDX-License-Identifier: GPL-2.0-only */
/* What the management VM asks of the node (docs/management-vm.md). Only with MANAGEMENT_VM. */
#ifndef VMM_MANAGEMENT_H
#define VMM_MANAGEMENT_H

#include <margay/management.h>
#include <margay/types.h>

struct vm;

/* A message as it goes to the guest. */
struct management_answer {
	u32 size;
	u8 data[MANAGEMENT_MAX];
};

/*
 * Where what is behind this head of a request of `size` bytes must lie when it is served, and has
 * room: an image's data, where they stay. NULL: anywhere.
 */
u8 *management_place(unsigned session, const struct management_message *head, u32 size);
/*
 * Does what a request of `size` bytes says, which may be anything but stays as it is, and answers
 * in *out. data: what is behind its head, there. What is longer than MANAGEMENT_MAX is not looked
 * at. session: below MANAGEMENT_PORTS. On a CPU of the management VM, of which there is one; one
 * call at a time.
 */
void management_serve(struct vm *vm, unsigned session, const u8 *request, const u8 *data, u32 size,
		      struct management_answer *out);
/*
 * Nobody waits for this session's answers any more: what it has begun is undone. As above, or when
 * that VM is over.
 */
void management_close(unsigned session);

#endif
