/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The low page from which CPUs start, and the page tables that identity-map
 * it. They are tables of their own, so that the kernel's never map anything
 * at low addresses. SDM vol. 3, 9.4.
 */
#ifndef ARCH_CPU_TRAMPOLINE_H
#define ARCH_CPU_TRAMPOLINE_H

#include <margay/types.h>

#define TRAMPOLINE_TABLES 4 /* pages */

/*
 * Copies the code to `page` (RAM below 1 MiB) and builds the tables at
 * `tables` (zeroed RAM below 4 GiB, TRAMPOLINE_TABLES pages). Both stay the
 * caller's, who may take them back when no CPU is on its way any more. What
 * the kernel maps afterwards in an empty 512 GiB slot is not seen by a CPU
 * before trampoline_leave().
 */
void trampoline_init(u64 page, u64 tables);

/* The page's number: the vector of the startup IPI (SDM vol. 3, 11.6.1). */
u8 trampoline_page(void);

/*
 * Where the next CPU goes: entry(arg), in 64-bit mode, interrupts off, with no descriptor tables of
 * the kernel's yet.
 */
void trampoline_aim(u64 stack_top, void (*entry)(void *arg), void *arg);

/* On the new CPU, first of all: from the trampoline's page tables to the kernel's. */
void trampoline_leave(void);

#endif
