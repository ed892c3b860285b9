/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the VM that commands the node asks of it (docs/management-vm.md). Only in images with
 * COMMANDER.
 */
#ifndef VMM_COMMANDER_H
#define VMM_COMMANDER_H

#include <margay/management.h>
#include <margay/types.h>

struct vm;

/* A message as it goes to the guest. */
struct commander_answer {
	u32 size;
	u8 data[COMMANDER_MAX];
};

/*
 * Does what a request of `size` bytes says, which may be anything but stays as it is, and answers
 * in *out. What is longer than COMMANDER_MAX is not looked at. session: below COMMANDER_PORTS. On a
 * CPU of the VM that commands, of which there is one; one call at a time.
 */
void commander_serve(struct vm *vm, unsigned session, const u8 *request, u32 size,
		     struct commander_answer *out);
/*
 * Nobody waits for this session's answers any more: what it has begun is undone. As above, or when
 * that VM is over.
 */
void commander_close(unsigned session);

#endif
