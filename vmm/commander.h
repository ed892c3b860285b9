/* SPDX-License-Identifier: GPL-2.0-only */
/* What the VM that commands the node asks of it (docs/commander.md). Only in images with COMMANDER. */
#ifndef VMM_COMMANDER_H
#define VMM_COMMANDER_H

#include <margay/commander.h>

#include "vmm/vm_end.h"

struct vm;
struct vm_config;

/* A message as it goes to the guest. */
struct commander_answer { u32 size; u8 data[COMMANDER_MAX]; };

/*
 * Does what a request of `size` bytes says, which may be anything but stays as it is, and answers in *out. What is longer than
 * COMMANDER_MAX is not looked at. session: below COMMANDER_PORTS. On a CPU of the VM that commands, of which there is one; one
 * call at a time.
 */
void commander_serve(struct vm *vm, unsigned session, const u8 *request, u32 size, struct commander_answer *out);
/* Nobody waits for this session's answers any more: what it has begun is undone. As above, or when that VM is over. */
void commander_close(unsigned session);

/* on_crash = dump: is such an end none? vm_end() has the VM stay as it is then, paused, for who reads it. Any CPU, any handler. */
bool commander_keeps(struct vm *vm, enum vm_end why);

/* May a VM of this file have the CPU? Any CPU. */
bool commander_lets_have(const struct vm_config *config, unsigned cpu);

#endif
