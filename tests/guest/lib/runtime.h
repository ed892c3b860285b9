/* SPDX-License-Identifier: GPL-2.0-only */
/* What the runtime's files call of each other. */
#ifndef TINY_RUNTIME_H
#define TINY_RUNTIME_H

#include "tiny.h"

/* Fills the IDT; once. */
void trap_init(void);
/* Segments, TSS, GS and IDT of the calling CPU; c->id is set. */
void cpu_init(struct cpu *c);

#endif
